import { Secret } from '../../model/secret.js';
import { Table } from './table.js';
import { Bounded } from './words.js';

interface SettingRow {
  path: string;
  value: string;
  from: string;
}

type OriginOf = (path: readonly string[]) => string | undefined;

/** Every setting with its value and where it was given; of a secret only that there is one. Pure. */
export function settingRows(settings: object, originOf: OriginOf): SettingRow[] {
  const rows: SettingRow[] = [];
  const walk = (value: unknown, path: readonly string[]) => {
    if (value === undefined || typeof value === 'function') return;
    const isTree = typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Secret);
    if (isTree && Object.keys(value).length > 0) {
      for (const [name, part] of Object.entries(value)) walk(part, [...path, name]);
      return;
    }
    const given = originOf(path) ?? (value instanceof Secret ? secretOrigin(path, originOf) : undefined);
    rows.push({ path: path.join('.'), value: inWords(value), from: given ?? 'default' });
  };
  walk(settings, []);
  return rows.sort((a, b) => a.path.localeCompare(b.path, 'en'));
}

function secretOrigin(path: readonly string[], originOf: OriginOf): string {
  const file = originOf([...path.slice(0, -1), `${path.at(-1)}File`]);
  return file === undefined ? 'a credential of systemd' : `the file that ${file} names`;
}

function inWords(value: unknown): string {
  if (value instanceof Secret) return '(secret)';
  // A list may hold secrets; they write themselves as such.
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** The settings in use. The daemon took them when it started. */
export function SettingsPage({ rows }: { rows: readonly SettingRow[] }) {
  return (
    <>
      <p>What the daemon took when it started. The reference of all settings is docs/settings.md.</p>
      <Table
        label="Settings"
        head={['Setting', 'Value', 'From']}
        rows={rows.map(({ path, value, from }) => [
          <code key="path">{path}</code>,
          <Bounded key="value" text={value} most={300} />,
          from,
        ])}
      />
    </>
  );
}
