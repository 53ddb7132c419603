import type { Settings } from '../../../config/settings.js';
import type { SettingsPart } from '../../../model/facts/alerts.js';
import { sourceNames } from '../../../model/record.js';
import type { Share } from '../../../store/nodes.js';
import { canonicalJson, sha256 } from '../../outbox/content-hash.js';

/** A few digits tell two settings apart, and the row of a node has room for them. */
const digits = 10;

/** The settings that nodes compare, as each tells them to the others. Pure. */
export function comparedSettings(settings: Settings): Required<Pick<Share, 'limits' | 'sources' | 'settings'>> {
  return {
    limits: limitsInWords(settings.service),
    // In whatever order a node names them.
    sources: sourceNames(settings).sort().join(),
    settings: settingsHashes(settings),
  };
}

/** The limits in one text: all nodes have to keep the same. */
function limitsInWords({ concurrency, limits }: Settings['service']): string {
  const each = limits.map(({ requests, perSeconds }) => `${requests}/${perSeconds}s`);
  return [...each, ...(concurrency === undefined ? [] : [`${concurrency} at once`])].join(', ');
}

/** A hash of each part of the settings that all nodes should have alike. Pure. Where the ERP is, each machine may say otherwise. */
function settingsHashes(settings: Settings): Record<SettingsPart, string> {
  const { installation, service, schedule, amounts } = settings;
  const mapping = ({ customers, orders }: Settings) => ({ customers, orders });
  const named = (settings.named ?? []).map((one) => [one.source ?? '', mapping(one)] as const);
  return {
    installation: hashOf(installation),
    address: hashOf([service.baseUrl, service.environment]),
    mapping: hashOf([mapping(settings), amounts]),
    sources: hashOf(named.sort(([one], [other]) => (one < other ? -1 : 1))),
    keys: hashOf(service.idempotency),
    quiet_hours: hashOf([schedule.quietHours, schedule.timeZone]),
  };
}

function hashOf(part: unknown): string {
  return sha256(canonicalJson(JSON.parse(JSON.stringify(part)))).slice(0, digits);
}
