import { readdirSync, readFileSync } from 'node:fs';
import { basename, delimiter, extname, join, relative } from 'node:path';
import { type Document, isMap, isPair, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { ConfigurationError, type ConfigurationProblem } from './configuration-error.js';

/** One file of settings, with its parsed document so that a problem can name the line. */
export interface SettingsFile {
  /** As it is shown: relative to the working folder where that is shorter. */
  name: string;
  content: Record<string, unknown>;
  /** Line of the setting, or undefined when this file does not have it. */
  lineOf(segments: readonly (string | number)[]): number | undefined;
}

interface SettingsFiles {
  /** The files merged, later ones over earlier ones. */
  merged: Record<string, unknown>;
  /** In the order in which they were merged. */
  files: SettingsFile[];
  warnings: string[];
}

/** JSON is YAML, so one parser reads all three. Executable formats are left out: settings are data. */
const extensions = ['json', 'yml', 'yaml'];

/** Later ones are laid over earlier ones. */
const baseNames = (environments: string[]) => [
  'default',
  ...environments,
  'local',
  ...environments.map((name) => `local-${name}`),
];

/** YAML's own messages quote the text around the fault, which may be a secret; these do not. */
const faults: Record<string, string> = {
  BAD_ALIAS: 'an alias (*name) without its anchor (&name)',
  BAD_DQ_ESCAPE: 'a backslash in double quotes that means nothing; use single quotes',
  BAD_INDENT: 'wrong indentation',
  BAD_SCALAR_START: 'a value that begins with a reserved character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a second colon in one line; put the value in quotes',
  DUPLICATE_KEY: 'the same name twice in one group',
  MISSING_CHAR: 'a missing quote, bracket, colon or comma',
  MULTILINE_IMPLICIT_KEY: 'a name without a colon, or wrong indentation',
  MULTIPLE_DOCS: 'more than one document (---) in one file',
  TAB_AS_INDENT: 'a tab used for indentation; use spaces',
  UNEXPECTED_TOKEN: 'something that does not belong here; quotes or indentation may be missing',
};

const shown = (file: string) => {
  const near = relative(process.cwd(), file);
  return near !== '' && near.length < file.length && !near.startsWith('..') ? near : file;
};

class FileReader {
  readonly files: SettingsFile[] = [];
  readonly problems: ConfigurationProblem[] = [];
  readonly warnings: string[] = [];

  /** Reads the text of one file and collects its faults, so that those of all files are reported at once. */
  read(file: string, text: string): Record<string, unknown> {
    const name = shown(file);
    const lines = new LineCounter();
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
    const at = (offset: number) => `${name}:${lines.linePos(offset).line}`;
    const refuse = (path: string, message: string) => {
      const hint = 'correct the line; a text with : # * & % or quotes in it needs quotes around it';
      this.problems.push({ path, message, hint });
    };
    for (const error of document.errors) {
      refuse(at(error.pos[0]), `not valid YAML: ${faults[error.code] ?? error.code}`);
    }
    for (const warning of document.warnings) refuse(at(warning.pos[0]), 'not valid YAML: an unknown tag (!name)');
    if (document.errors.length > 0) return {};
    const before = this.problems.length;
    visit(document, {
      Pair: (_, pair) => {
        if (isScalar(pair.key) && pair.key.value === '__proto__') {
          refuse(at(pair.key.range?.[0] ?? 0), 'a setting can not be called __proto__');
        }
      },
    });
    // Merged by assignment, such a name would change the prototype of every object.
    if (this.problems.length > before) return {};
    let content: unknown;
    try {
      content = document.toJS();
    } catch {
      refuse(name, `not valid YAML: ${faults.BAD_ALIAS}, or far too many of them`);
      return {};
    }
    if (content === null || content === undefined) content = {};
    if (typeof content !== 'object' || Array.isArray(content)) {
      refuse(name, 'holds no settings: expected lines such as `installation: main-office`');
      return {};
    }
    const settings = content as Record<string, unknown>;
    this.files.push({
      name,
      content: settings,
      lineOf: (segments) => {
        const offset = offsetOf(document, segments);
        return offset === undefined ? undefined : lines.linePos(offset).line;
      },
    });
    return settings;
  }
}

/** The place of a setting's name in its file. */
function offsetOf(document: Document, segments: readonly (string | number)[]): number | undefined {
  const last = segments.at(-1);
  const parent = segments.length < 2 ? document.contents : document.getIn(segments.slice(0, -1), true);
  if (!isMap(parent)) {
    const node = document.getIn(segments, true);
    return (node as { range?: [number, number, number] } | undefined)?.range?.[0];
  }
  const pair = parent.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === last);
  return (pair?.key as { range?: [number, number, number] } | undefined)?.range?.[0];
}

/** Files in formats that other programs take settings from, but Waybill does not; each gives a warning. */
function overlooked(names: string[], known: string[]): string[] {
  const isSettings = (name: string) => known.includes(basename(name, extname(name)));
  return names.filter((name) => isSettings(name) && !extensions.includes(extname(name).slice(1)));
}

function textOf(file: string, fail: (message: string, hint: string) => never): string {
  try {
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return fail(`${shown(file)} can not be read (${code})`, 'let the account that runs Waybill read the file');
  }
}

const isGroup = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Lays settings over earlier ones: group by group, and a list or a value in the place of the earlier one. */
function mergeInto(earlier: Record<string, unknown>, later: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(later)) {
    const before = earlier[name];
    if (isGroup(before) && isGroup(value)) mergeInto(before, value);
    else earlier[name] = structuredClone(value);
  }
}

/**
 * Reads the settings of a folder: default, $NODE_ENV, local, local-$NODE_ENV, later over earlier.
 * Throws a ConfigurationError for a missing folder, a folder without settings, and every fault of syntax at once.
 */
export function readSettingsFiles(configDir: string, environments: string[]): SettingsFiles {
  const place = shown(configDir);
  const fail = (message: string, hint: string): never => {
    throw new ConfigurationError(place, [{ path: place, message, hint }]);
  };
  if (configDir.includes(delimiter)) {
    fail(`the name of a configuration folder can not hold "${delimiter}"`, 'rename the folder');
  }
  let names: string[] = [];
  try {
    names = readdirSync(configDir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reasons: Record<string, string> = {
      ENOENT: 'there is no such folder',
      ENOTDIR: 'it is not a folder',
      EACCES: 'this account may not read the folder',
    };
    fail(
      reasons[code ?? ''] ?? `the folder can not be read (${code})`,
      code === 'EACCES'
        ? 'say it as the account that runs Waybill, or as root where `waybill` is installed (sudo waybill …)'
        : 'give the folder that holds local.yaml with --config DIR',
    );
  }
  const known = baseNames(environments);
  const reader = new FileReader();
  for (const name of overlooked(names, known)) {
    reader.warnings.push(`${join(place, name)} is not read: settings are read from .yaml, .yml and .json files only`);
  }
  const merged: Record<string, unknown> = {};
  for (const name of known.flatMap((base) => extensions.map((extension) => `${base}.${extension}`)))
    if (names.includes(name))
      mergeInto(merged, reader.read(join(configDir, name), textOf(join(configDir, name), fail)));
  if (reader.problems.length > 0) throw new ConfigurationError(place, reader.problems);
  if (reader.files.length === 0) {
    fail('the folder holds no default.yaml and no local.yaml', 'copy config/example/local.yaml into it, and edit it');
  }
  return { merged, files: reader.files, warnings: reader.warnings };
}
