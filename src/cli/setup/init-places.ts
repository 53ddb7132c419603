import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { settingsFrom } from '../../config/load-settings.js';
import { databaseKinds, defaultPort, fileKind } from '../../config/sections/database-kinds.js';
import { readSecretFile } from '../../config/sections/secret-file.js';
import type { Settings } from '../../config/settings.js';
import type { Places } from '../../operator/setup/init/compose-settings.js';
import { UsageError } from '../command.js';
import { askSecret, hideFromErrors, writeError } from '../terminal/streams.js';
import { type ConfigurationPlace, shown } from './init-files.js';
import type { Interview } from './interview.js';

/** The flags about the ERP and the service. */
export interface GivenPlaces {
  passwordFile?: string;
  tls?: 'required' | 'off';
  tlsCaFile?: string;
  port?: number;
  serviceUrl?: string;
  tokenFile?: string;
  keyLifetimeHours?: number;
  yes?: boolean;
}

/** The addresses of the ERP and the service, with their secrets apart from the settings. */
export interface SettledPlaces {
  settings: Places;
  /** For a suggested name of the installation. */
  name: string;
  password: string | null;
  token: string | null;
  /** Files of the configuration folder that are written for secrets: name → text. */
  secretFiles: Readonly<Record<string, string>>;
}

/** The stand-in that `waybill sandbox` runs. */
const standIn = { url: 'http://127.0.0.1:8080', token: 'sandbox-token', lifetimeHours: 24 };

/** Tries to connect: what is wrong, or null. */
type WhyAway = (places: Places, settingsOf: (tree: unknown) => Settings) => Promise<string | null>;

/**
 * Null: it is not known where the ERP is. A token may be an open question still.
 * @param whyAway where a person is there to correct what was typed: tries it, before anything else is asked
 */
export async function settlePlaces(
  interview: Interview,
  options: GivenPlaces,
  { folder }: ConfigurationPlace,
  whyAway: WhyAway | null,
): Promise<SettledPlaces | null> {
  const secretFiles: Record<string, string> = {};
  /** Keeps a secret in a file of the folder. One that an earlier configuration left there is not written over. */
  const keep = (file: string, secret: string, source: string, flag: string) => {
    const left = leftSecret(join(folder, file));
    if (left !== null && left !== secret)
      throw new UsageError(
        `${shown(join(folder, file))} exists already and holds something else than ${source}. Move it away too, or give --${flag}.`,
      );
    if (left === null) secretFiles[file] = secret;
    return { secret, file };
  };
  const secretOf: SecretOf = async (given, { env, file, flag, question, last = null }) => {
    if (last !== null) {
      const typed = await askSecret(question);
      return typed === '' ? last : keep(file, typed, 'what was typed', flag);
    }
    if (given !== undefined) return { secret: secretIn(given), file: resolve(given) };
    if (process.env[env]) return keep(file, process.env[env], `$${env}`, flag);
    const left = leftSecret(join(folder, file));
    // The stand-in's token, of an attempt without a service, is none for a service.
    if (left === standIn.token) keep(file, '', 'a token of your service', flag);
    if (left !== null) {
      interview.settle(flag, file, 'it is there already');
      return { secret: left, file };
    }
    const secret = options.yes ? '' : await askSecret(question);
    return secret === '' ? null : keep(file, secret, 'what was typed', flag);
  };

  const type = await interview.answer(
    {
      name: 'type',
      text: 'What kind of database is the ERP in?',
      choices: databaseKinds,
    },
    (text) =>
      databaseKinds.some(({ value }) => value === text)
        ? null
        : `write ${databaseKinds.map(({ value }) => value).join(' or ')}`,
  );
  const find = (last: Found | null) =>
    type === fileKind ? fileOf(interview) : serverOf(interview, type, options, secretOf, last);
  let found = await find(null);
  while (whyAway !== null) {
    hideFromErrors(found.password === null ? [] : [found.password.secret]);
    const service = { environment: 'sandbox', baseUrl: standIn.url };
    const checked = settingsChecker({ password: found.password?.secret ?? null, token: standIn.token });
    const away = await whyAway({ erp: found.erp, service }, checked);
    if (away === null) break;
    writeError(away, 'Once more, then; an empty answer leaves it as it was.');
    interview.askAgain('host', 'port', 'database', 'user', 'file');
    found = await find(found);
  }
  const { erp, password } = found;
  const { serviceUrl: baseUrl, keyLifetimeHours } = options;
  const isErpKnown = interview.open.length === 0;
  let token =
    baseUrl === undefined && options.tokenFile === undefined
      ? null
      : await secretOf(options.tokenFile, {
          ...{ env: 'WAYBILL_SERVICE_TOKEN', file: 'service-token', flag: 'token-file' },
          question: 'The token of the service (it is not shown):',
        });
  if (baseUrl !== undefined && token === null) {
    const file = await interview.answer({
      name: 'token-file',
      text: 'A file with the token of the service, or $WAYBILL_SERVICE_TOKEN?',
    });
    if (file !== null) token = { secret: secretIn(file), file: resolve(file) };
  }
  if (token !== null && !/^[\x21-\x7e]+$/.test(token.secret))
    throw new UsageError(
      `${options.tokenFile ? `--token-file ${options.tokenFile}` : 'The token'}: it holds a space, a line break or a letter outside ASCII, which no header carries. Give the token and nothing else.`,
    );
  if (!isErpKnown) return null;
  // Without its token the ERP is looked at all the same, so that all open questions are named at once.
  if (token === null && baseUrl === undefined)
    keep('service-token', standIn.token, 'the token of `waybill sandbox`', 'token-file');
  const lifetimeHours = keyLifetimeHours ?? (baseUrl === undefined ? standIn.lifetimeHours : undefined);
  const service = {
    environment: 'sandbox',
    baseUrl: baseUrl ?? standIn.url,
    tokenFile: token?.file ?? 'service-token',
    ...(lifetimeHours !== undefined && { idempotency: { lifetimeHours } }),
  };
  hideFromErrors([password?.secret, token?.secret].filter((one) => one !== undefined));
  return {
    settings: { erp, service },
    name:
      String(erp.database ?? basename(String(erp.file)).replace(/\.\w+$/, ''))
        .replaceAll(/[^A-Za-z0-9]+/g, '-')
        .replace(/^-/, '')
        .slice(0, 40) || 'erp',
    password: password?.secret ?? null,
    token: token?.secret ?? standIn.token,
    secretFiles,
  };
}

/** The origin of a secret, if no file was given: the environment, the folder, or a person. */
type SecretOf = (
  given: string | undefined,
  otherwise: { env: string; file: string; flag: string; question: string; last?: Secret | null },
) => Promise<Secret | null>;

interface Secret {
  secret: string;
  file: string;
}

/** @throws UsageError where the file holds none */
function secretIn(file: string): string {
  const read = readSecretFile(resolve(file));
  if ('fault' in read) throw new UsageError(`The file ${file} ${read.fault}: ${read.hint}.`);
  return read.secret.reveal();
}

/** Files that an earlier configuration left there. */
function leftSecret(file: string): string | null {
  return existsSync(file) ? secretIn(shown(file)) : null;
}

type Found = { erp: Record<string, unknown>; password: Secret | null };

async function fileOf(interview: Interview): Promise<Found> {
  const file = await interview.answer({ name: 'file', text: 'Which SQLite file?' }, (text) =>
    existsSync(text) ? null : 'there is no such file',
  );
  return { erp: { type: fileKind, file: file === null ? '' : resolve(file) }, password: null };
}

const isPort = (text: string) => (/^[1-9]\d{0,4}$/.test(text) ? null : 'write a number such as 3306');

async function serverOf(
  interview: Interview,
  type: string | null,
  { passwordFile, port, tls, tlsCaFile }: GivenPlaces,
  secretOf: SecretOf,
  last: Found | null,
): Promise<Found> {
  const host = await interview.answer({ name: 'host', text: 'On which server?', suggestion: '127.0.0.1' });
  const usual = String(port ?? defaultPort(type));
  // Not asked at first: it is the usual one, or stands in a flag.
  const other = last && (await interview.answer({ name: 'port', text: 'On which port?', suggestion: usual }, isPort));
  const database = await interview.answer({ name: 'database', text: 'What is the database called?' });
  const user = await interview.answer({ name: 'user', text: 'An account that may read it?' });
  const password = await secretOf(last ? undefined : passwordFile, {
    ...{ env: 'WAYBILL_ERP_PASSWORD', file: 'erp-password', flag: 'password-file' },
    question: 'Its password (it is not shown):',
    last: last?.password ?? null,
  });
  const secure = { ...(tls && { mode: tls }), ...(tlsCaFile && { caFile: resolve(tlsCaFile) }) };
  const erp = {
    ...{ type, host, ...((other ?? port) && { port: Number(other ?? port) }), database, user },
    ...(password && { passwordFile: password.file }),
    ...(Object.keys(secure).length > 0 && { tls: secure }),
  };
  return { erp, password };
}

/** Checks settings the way a configuration is checked, with the secrets in the places of their files. */
export function settingsChecker({
  password,
  token,
}: Pick<SettledPlaces, 'password' | 'token'>): (tree: unknown) => Settings {
  return (tree) => {
    const { erp, service, ...others } = tree as { erp: Record<string, unknown>; service: Record<string, unknown> };
    const { passwordFile: _, ...server } = erp;
    const { tokenFile: __, ...place } = service;
    return settingsFrom({
      ...others,
      erp: { ...server, ...(password !== null && { password }) },
      service: { ...place, token },
    });
  };
}
