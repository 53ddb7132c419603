import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { otherEnvironmentNames } from './environment-overrides.js';
import { fieldMapping } from './sections/record-mapping.js';
import { fieldRule } from './sections/service.js';
import { answer } from './sections/service-answers.js';
import { sourceSettings } from './sections/sources.js';
import {
  allowedInWords,
  describeSchema,
  isGroup,
  membersOf,
  type SettingEntry,
  type SettingGroup,
  type SettingNode,
  settingGroups,
} from './setting-list.js';

const unitInName = /(seconds|minutes|hours|bytes)$/i;

/** Most units are part of the name; the schema gives the others. */
const unitOf = (name: string, { unit }: SettingNode) => unit ?? unitInName.exec(name)?.[0].toLowerCase() ?? '';

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const code = (text: string) => (text === '' ? '' : `\`${text}\``);
const row = (cells: string[]) => `| ${cells.map(cell).join(' | ')} |`;

function defaultOf(required: boolean, { default: preset }: SettingNode, always: boolean): string {
  if (preset !== undefined) return code(typeof preset === 'string' ? preset : JSON.stringify(preset));
  if (!required) return '—';
  return always ? '**required**' : 'required where the group is given';
}

function settingRow({ path, node, required, only, environmentName }: SettingEntry, always: boolean): string {
  const condition = only === undefined ? '' : `Only where ${only.path} is ${only.names.join(' or ')}. `;
  const meaning = condition + (node.description ?? '');
  const preset = defaultOf(required, node, always);
  return row([code(path), allowedInWords(node), preset, unitOf(path, node), meaning, code(environmentName)]);
}

function table(group: SettingGroup): string[] {
  return [
    '| Setting | Allowed | Default | Unit | Meaning | Environment variable |',
    '|---|---|---|---|---|---|',
    ...group.settings.map((entry) => settingRow(entry, group.always)),
    '',
  ];
}

/** A part that several settings share, such as a field mapping. It has no environment variables of its own. */
function sharedPart(schema: z.ZodType, opening: string): string[] {
  const part = describeSchema(schema);
  const rows = membersOf(part.anyOf?.find(isGroup) ?? part).map(({ name, node, required }) =>
    row([
      code(name),
      allowedInWords(node),
      defaultOf(required, node, true),
      unitOf(name, node),
      node.description ?? '',
    ]),
  );
  const head = ['| Name | Allowed | Default | Unit | Meaning |', '|---|---|---|---|---|'];
  return [`## ${part.shape}`, '', opening, '', ...head, ...rows, ''];
}

const opening = `# Settings

Printed from the schema in \`src/config\` by \`npm run docs\`; edit it there.

**Where settings come from.** The configuration folder is \`config\` in the working folder, or the one that
\`--config DIR\` or \`WAYBILL_CONFIG\` names. Its files are read in this order, later ones over earlier ones:
\`default.yaml\`, \`$NODE_ENV.yaml\`, \`local.yaml\`, \`local-$NODE_ENV.yaml\`. An environment variable wins over every file.
Groups are merged name by name, lists are replaced whole, and a name with nothing behind its colon counts as not set.
\`config/example/local.yaml\` is a complete example.

**Environment variables** hold plain text; numbers as \`10\` or \`0.5\`; \`true\` or \`false\`; lists and groups of names
as JSON. An unknown name that begins with \`WAYBILL_\` is an error, and so is an empty value. Not a setting:`;

const closing = `
**Secrets** are \`service.token\`, \`erp.password\`, \`store.password\` and every other setting that has a \`…File\` setting
beside it. A secret in one of these files is an error. Each secret is taken from the first of: its environment variable;
the file that its \`…File\` setting names; under systemd, the credential in \`$CREDENTIALS_DIRECTORY\` that is named like
the setting: \`service-token\`, \`erp-password\`, \`service-tls-key\`. One line break at the end of a file is dropped. A
secret file that every account may read gives a warning.

**Paths**: \`erp.file\` and secret files are relative to the configuration folder. \`store.file\` is relative to the
working folder, or under systemd to \`$STATE_DIRECTORY\` (without a leading \`data/\`).

**A wrong configuration** is refused before anything is touched. Every mistake is reported at once; the exit code is 2.
`;

/** The reference page of all settings, in Markdown: docs/settings.md. */
export function printSettingsReference(): string {
  const others = Object.entries(otherEnvironmentNames).map(([name, meaning]) => `- \`${name}\`: ${meaning}`);
  const lines = [opening, ...others, closing];
  for (const group of settingGroups) {
    if (group.settings.length === 0 && group.meaning === '') continue;
    const depth = '#'.repeat(Math.min(4, group.path.split('.').length + 1));
    lines.push(group.path === '' ? '## Installation' : `${depth} ${group.path}`, '');
    if (group.meaning !== '') lines.push(group.meaning, '');
    if (group.settings.length > 0) lines.push(...table(group));
  }
  const mapping = 'How one field of a record is made. A plain text in its place names the column.';
  lines.push(...sharedPart(fieldMapping, mapping));
  lines.push(
    ...sharedPart(answer, 'One way to recognise an answer of the service. Everything given here has to match.'),
  );
  lines.push(...sharedPart(sourceSettings, 'One more ERP; see sources. Its sections stand beside the common ones.'));
  lines.push(...sharedPart(fieldRule, 'What the service demands of one field; see service.fields.'));
  return `${lines.join('\n').trimEnd()}\n`;
}

// `npm run docs` runs this file in the project's folder; the tests only import it.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync('docs/settings.md', printSettingsReference());
}
