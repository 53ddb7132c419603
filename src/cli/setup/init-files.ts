import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { settingsFrom } from '../../config/load-settings.js';
import { readSecretFile } from '../../config/sections/secret-file.js';
import type { Settings } from '../../config/settings.js';
import { composeYaml, type Places } from '../../operator/setup/init/compose-settings.js';
import type { Proposal } from '../../operator/setup/init/init.js';
import type { Interview } from '../../operator/setup/init/interview.js';
import { writeWholeFile } from '../../store/whole-file.js';
import { UsageError } from '../command.js';
import { askSecret, hideFromErrors } from '../terminal/streams.js';

/** What the flags say of the ERP and the service. */
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

/** Where the ERP and the service are, with their secrets apart from the settings. */
export interface SettledPlaces {
  settings: Places;
  /** For a suggested name of the installation. */
  name: string;
  password: string | null;
  token: string | null;
  /** Files of the configuration folder that are written for secrets: name → text. */
  secretFiles: Readonly<Record<string, string>>;
}

export interface ConfigurationPlace {
  folder: string;
  file: string;
}

/** @throws UsageError where there is a configuration already, or none can be written: before anybody is asked anything */
export function configurationPlace(given: string | undefined): ConfigurationPlace {
  const folder = resolve(given ?? (process.env.WAYBILL_CONFIG || 'config'));
  const found = ['local.yaml', 'local.yml', 'local.json']
    .map((name) => join(folder, name))
    .find((file) => existsSync(file));
  if (found !== undefined)
    throw new UsageError(
      `${shown(found)} exists already, and init writes over no configuration. Move it away, or name another folder with --config.`,
    );
  const place = { folder, file: join(folder, 'local.yaml') };
  let parent = folder;
  while (!existsSync(parent)) parent = dirname(parent);
  if (!statSync(parent).isDirectory()) throw unwritable(place, { code: 'ENOTDIR' });
  try {
    accessSync(parent, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unwritable(place, error);
  }
  return place;
}

/** @param error of the file system */
function unwritable({ file }: ConfigurationPlace, error: unknown): UsageError {
  const { code = '' } = error as NodeJS.ErrnoException;
  const reasons: Record<string, string> = {
    ...{ EACCES: 'this account may not write there', EPERM: 'this account may not write there' },
    ...{ ENOTDIR: 'a file stands where a folder is needed', EEXIST: 'a file stands where a folder is needed' },
    ...{ ENOENT: 'no folder can be made there', EROFS: 'the file system is read-only' },
  };
  return new UsageError(
    `${shown(file)} can not be written: ${reasons[code] ?? code}. Name another folder with --config, or run init as an account that may write there.`,
    { cause: error },
  );
}

/** `config/local.yaml` rather than the whole path, where that is shorter. */
function shown(file: string): string {
  const near = relative(process.cwd(), file);
  return near.startsWith('..') ? file : near;
}

/** The stand-in that `waybill sandbox` runs. */
const standIn = { url: 'http://127.0.0.1:8080', token: 'sandbox-token', lifetimeHours: 24 };

/** Null: it is not known where the ERP is. A token may be an open question still. */
export async function settlePlaces(
  interview: Interview,
  options: GivenPlaces,
  { folder }: ConfigurationPlace,
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
  const secretOf: SecretOf = async (given, { env, file, flag, question }) => {
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
      choices: [
        { value: 'mysql', note: 'MySQL or MariaDB' },
        { value: 'postgres' },
        { value: 'sqlite', note: 'a SQLite file' },
      ],
    },
    (text) => (['mysql', 'postgres', 'sqlite'].includes(text) ? null : 'write mysql, postgres or sqlite'),
  );
  const { erp, password } =
    type === 'sqlite' ? await fileOf(interview) : await serverOf(interview, type, options, secretOf);
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

/** Where a secret comes from, if no file was given: from the environment, from the folder, or from a person. */
type SecretOf = (
  given: string | undefined,
  otherwise: { env: string; file: string; flag: string; question: string },
) => Promise<{ secret: string; file: string } | null>;

/** @throws UsageError where the file holds none */
function secretIn(file: string): string {
  const read = readSecretFile(resolve(file));
  if ('fault' in read) throw new UsageError(`The file ${file} ${read.fault}: ${read.hint}.`);
  return read.secret.reveal();
}

/** What an earlier configuration left there. */
function leftSecret(file: string): string | null {
  return existsSync(file) ? secretIn(shown(file)) : null;
}

type Found = { erp: Record<string, unknown>; password: { secret: string; file: string } | null };

async function fileOf(interview: Interview): Promise<Found> {
  const file = await interview.answer({ name: 'file', text: 'Which SQLite file?' }, (text) =>
    existsSync(text) ? null : 'there is no such file',
  );
  return { erp: { type: 'sqlite', file: file === null ? '' : resolve(file) }, password: null };
}

async function serverOf(
  interview: Interview,
  type: string | null,
  { passwordFile, port, tls, tlsCaFile }: GivenPlaces,
  secretOf: SecretOf,
): Promise<Found> {
  const host = await interview.answer({ name: 'host', text: 'On which server?', suggestion: '127.0.0.1' });
  const database = await interview.answer({ name: 'database', text: 'What is the database called?' });
  const user = await interview.answer({ name: 'user', text: 'An account that may read it?' });
  const password = await secretOf(passwordFile, {
    ...{ env: 'WAYBILL_ERP_PASSWORD', file: 'erp-password', flag: 'password-file' },
    question: 'Its password (it is not shown):',
  });
  const secure = { ...(tls && { mode: tls }), ...(tlsCaFile && { caFile: resolve(tlsCaFile) }) };
  const erp = {
    ...{ type, host, ...(port && { port }), database, user },
    ...(password && { passwordFile: password.file }),
    ...(Object.keys(secure).length > 0 && { tls: secure }),
  };
  return { erp, password };
}

/** Checks settings the way a configuration is checked, with the secrets in the places of their files. */
export function settingsChecker({ password, token }: SettledPlaces): (tree: unknown) => Settings {
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

/** Writes the secrets, then the settings that name them: nobody else may read any of them. */
export async function writeConfiguration(
  place: ConfigurationPlace,
  { secretFiles }: SettledPlaces,
  { settings, draft, grants }: Proposal,
): Promise<string[]> {
  const { folder, file } = place;
  const head = [
    `Written by \`waybill init\` for ${draft.title}. docs/mapping.md explains the mapping, docs/settings.md lists what else can be set.`,
  ];
  const tail = grants.length > 0 ? ['For an account that can only read:', ...grants] : [];
  const files = [
    ...Object.entries(secretFiles).map(([name, text]) => [join(folder, name), text] as const),
    [file, composeYaml(settings, draft, head, tail)] as const,
  ];
  await mkdir(folder, { recursive: true }).catch((error) => {
    throw unwritable(place, error);
  });
  const written: string[] = [];
  try {
    for (const [path, text] of files) {
      await writeWholeFile(path, (handle) => handle.writeFile(text));
      written.push(path);
    }
  } catch (error) {
    // Half a configuration would be in the way of the next attempt.
    for (const path of written) await rm(path, { force: true });
    throw error;
  }
  return written.map(shown);
}
