import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { composeYaml } from '../../operator/setup/init/compose-settings.js';
import type { Proposal } from '../../operator/setup/init/init.js';
import { writeWholeFile } from '../../store/whole-file.js';
import { UsageError } from '../command.js';

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
export function shown(file: string): string {
  const near = relative(process.cwd(), file);
  return near.startsWith('..') ? file : near;
}

/** Writes the secrets, then the settings that name them: nobody else may read any of them. */
export async function writeConfiguration(
  place: ConfigurationPlace,
  { secretFiles }: { secretFiles: Readonly<Record<string, string>> },
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
