import { otherEnvironmentNames } from './environment-overrides.js';
import { allowedInWords, kindOf, unwrap } from './schema-tree.js';
import { fieldMapping } from './sections/field-mapping.js';
import { fieldRule } from './sections/service.js';
import { answer } from './sections/service-answers.js';
import { type SettingEntry, type SettingGroup, settingGroups } from './setting-list.js';

const units: [RegExp, string][] = [
  [/seconds$/i, 'seconds'],
  [/minutes$/i, 'minutes'],
  [/hours$/i, 'hours'],
  [/bytes$/i, 'bytes'],
];

/** Most units stand in the name; the others are said by the setting. */
export function unitOf(name: string, said: string | undefined): string {
  return said ?? units.find(([pattern]) => pattern.test(name))?.[1] ?? '';
}

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const code = (text: string) => (text === '' ? '' : `\`${text}\``);

function defaultOf(required: boolean, preset: unknown, always: boolean): string {
  if (preset !== undefined) return code(typeof preset === 'string' ? preset : JSON.stringify(preset));
  if (!required) return '—';
  return always ? '**required**' : 'required where the group is given';
}

function row(entry: SettingEntry, always: boolean): string {
  const only = entry.only === undefined ? '' : `Only where ${entry.only.path} is ${entry.only.names.join(' or ')}. `;
  const cells = [
    code(entry.path),
    entry.allowed,
    defaultOf(entry.required, entry.preset, always),
    unitOf(entry.path, entry.meta.unit),
    only + (entry.meta.description ?? ''),
    code(entry.environmentName),
  ];
  return `| ${cells.map(cell).join(' | ')} |`;
}

function table(group: SettingGroup): string[] {
  return [
    '| Setting | Allowed | Default | Unit | Meaning | Environment variable |',
    '|---|---|---|---|---|---|',
    ...group.settings.map((entry) => row(entry, group.always)),
  ];
}

/** A part that several settings share, such as a field mapping. It has no environment variables of its own. */
function sharedPart(schema: typeof fieldMapping | typeof answer | typeof fieldRule, opening: string): string[] {
  const kind = kindOf(schema);
  const object = kind.is === 'union' ? kind.options.map(kindOf).find((option) => option.is === 'object') : kind;
  const lines = [
    `## ${unwrap(schema).meta.shape}`,
    '',
    opening,
    '',
    '| Name | Allowed | Default | Unit | Meaning |',
    '|---|---|---|---|---|',
  ];
  for (const [name, part] of Object.entries(object?.is === 'object' ? object.shape : {})) {
    const { meta, required, preset } = unwrap(part);
    const cells = [code(name), allowedInWords(part), defaultOf(required, preset, true), unitOf(name, meta.unit)];
    lines.push(`| ${[...cells, meta.description ?? ''].map(cell).join(' | ')} |`);
  }
  return [...lines, ''];
}

const opening = `# Settings

Printed from the schema in \`src/config\` by \`npm run docs\`; edit it there.

**Where settings come from.** The configuration folder is \`config\` in the working folder, or the one that
\`--config DIR\` or \`WAYBILL_CONFIG\` names. Its files are read in this order, later ones over earlier ones:
\`default.yaml\`, \`$NODE_ENV.yaml\`, \`local.yaml\`, \`local-$NODE_ENV.yaml\`. An environment variable wins over every file.
Groups are merged name by name, lists are replaced whole, and a name with nothing behind its colon counts as not set.
\`config/example/local.yaml\` is a complete example.

**Environment variables** carry text as it stands; numbers as \`10\` or \`0.5\`; \`true\` or \`false\`; lists and groups of
names as JSON. An unknown name that begins with \`WAYBILL_\` is an error, and so is an empty value. Not a setting:`;

const closing = `
**Secrets** (\`service.token\`, \`erp.password\`, \`store.password\` and the others whose names have a \`…File\` beside them) never stand in these files; one that does is an error.
Each is taken from the first of: its environment variable; the file that its \`…File\` setting names; under systemd, the
credential in \`$CREDENTIALS_DIRECTORY\` that is called like the setting: \`service-token\`, \`erp-password\`, \`service-tls-key\`. One line break at the end
of a file is dropped. A secret file that every account may read gives a warning.

**Paths**: \`erp.file\` and secret files are relative to the configuration folder. \`store.file\` is relative to the
working folder, or under systemd to \`$STATE_DIRECTORY\` (without a leading \`data/\`).

**A wrong configuration** is refused before anything is touched, with every mistake at once, and exit code 2.
`;

/** The reference page of all settings, in Markdown: docs/settings.md. */
export function printSettingsReference(): string {
  const others = Object.entries(otherEnvironmentNames).map(([name, meaning]) => `- \`${name}\`: ${meaning}`);
  const lines = [opening, ...others, closing];
  for (const group of settingGroups()) {
    if (group.settings.length === 0 && group.meaning === '') continue;
    const depth = '#'.repeat(Math.min(4, group.path.split('.').length + 1));
    lines.push(group.path === '' ? '## Installation' : `${depth} ${group.path}`, '');
    if (group.meaning !== '') lines.push(group.meaning, '');
    if (group.settings.length > 0) lines.push(...table(group), '');
  }
  const mapping = 'How one field of a record is made. A plain text in its place names the column.';
  lines.push(...sharedPart(fieldMapping, mapping));
  lines.push(...sharedPart(answer, 'One way to recognise an answer of the service. All that is given has to agree.'));
  lines.push(...sharedPart(fieldRule, 'What the service demands of one field; see service.fields.'));
  return `${lines.join('\n').trimEnd()}\n`;
}
