import { Document, isMap, isScalar, type Pair, type YAMLMap } from 'yaml';
import { harmlessLine } from '../model/redact.js';
import type { Finding } from '../operator/setup/probe/evidence.js';
import type { ProbeResult } from '../operator/setup/probe/probe.js';
import { tell } from '../words/words.js';

const width = 100;

/**
 * The settings that a probe proposes, as YAML with the evidence of each in comments, and below them what a person has to
 * ask. Pure.
 */
export function proposalOf({ findings: found, left, stopped }: ProbeResult, service: string, at: string): string {
  const findings = found.map(tellFinding);
  const document = new Document({});
  for (const { settings } of findings)
    for (const [name, value] of Object.entries(settings)) document.setIn(name.split('.'), document.createNode(value));
  const told = new Set<string>();
  for (const { settings, point, found, evidence } of findings)
    for (const name of Object.keys(settings)) {
      if (told.has(point)) continue;
      told.add(point);
      comment(document, name.split('.'), [`${point}: ${found}`, ...evidence.map((line) => `  ${line}`)]);
    }
  document.commentBefore = comments([
    `Proposed by waybill probe for ${service}, ${at}. Move what is right into local.yaml, under the same names.`,
    ...(stopped === null ? [] : [`The probe did not come to its end: ${tell(stopped)}.`]),
    ...left.map(({ entity, name, why }) => `Left at the service: ${entity} ${name} (${tell(why)}).`),
  ]);
  const noSetting = findings.filter(({ settings, ask }) => ask === null && Object.keys(settings).length === 0);
  const open = findings.filter(({ ask }) => ask !== null);
  document.comment = comments([
    ...(noSetting.length === 0 ? [] : ['Seen, and in need of no setting:']),
    ...noSetting.flatMap(({ point, found, evidence }) => [
      `- ${point}: ${found}`,
      ...evidence.map((line) => `    ${line}`),
    ]),
    ...(open.length === 0 ? [] : ['', 'Ask the operator of the service:']),
    ...open.flatMap(({ point, found, ask, evidence }) => [
      `- ${point}: ${ask}`,
      `    ${found}`,
      ...evidence.map((line) => `    ${line}`),
    ]),
  ]);
  return document.toString({ lineWidth: 120 });
}

/** A finding in words. */
export function tellFinding({ point, found, ask, evidence, settings }: Finding) {
  return {
    point: tell(point),
    found: tell(found),
    ask: ask === null ? null : tell(ask),
    evidence: evidence.map((one) => tell(one)),
    settings,
  };
}

/** Puts a comment above a setting. */
function comment(document: Document, names: readonly string[], lines: readonly string[]): void {
  const parent = document.getIn(names.slice(0, -1), true);
  const last = names.at(-1);
  if (!isMap(parent)) return;
  const pair = (parent as YAMLMap).items.find(({ key }) => (isScalar(key) ? key.value : key) === last) as
    | Pair
    | undefined;
  if (!pair) return;
  const key = document.createNode(last) as { commentBefore?: string | null };
  key.commentBefore = comments(lines, 2 * (names.length - 1));
  pair.key = key;
}

/** Lines of a comment, wrapped. No text of the service begins a line of its own. */
function comments(lines: readonly string[], indent = 0): string {
  return lines
    .flatMap((line) => wrap(harmlessLine(line), width - indent - 2))
    .map((line) => ` ${line}`)
    .join('\n');
}

function wrap(line: string, width: number): string[] {
  const indent = /^ */.exec(line)?.[0] ?? '';
  const wrapped: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const cut = space > indent.length + 20 ? space : width;
    wrapped.push(rest.slice(0, cut));
    rest = `${indent}  ${rest.slice(cut).trimStart()}`;
  }
  return [...wrapped, rest];
}
