import { isInFile } from '../model/database-place.js';
import { checkSettings } from './check-settings.js';
import type { ConfigurationProblem } from './configuration-error.js';
import type { SettingsFile } from './read-settings-files.js';
import { refuseSecretsInFiles, resolveSecrets } from './resolve-secrets.js';
import type { Settings } from './settings.js';
import { isTree, type Segments } from './tree-path.js';

const ownSections = ['erp', 'customers', 'orders'] as const;

interface NamedSources {
  /** The whole settings as each source sees them. */
  named: Settings[];
  problems: ConfigurationProblem[];
  warnings: string[];
}

type Tree = Record<string, unknown>;

/** The sources of a tree of settings, by name. A value that is no group of settings is left to the schema. */
function sourcesIn(tree: Tree): [name: string, sections: Tree][] {
  const sources = isTree(tree.sources) ? Object.entries(tree.sources) : [];
  return sources.filter((source): source is [string, Tree] => isTree(source[1]));
}

/** Finds the secrets of the named sources, which come from files alone. */
export function resolveSourceSecrets(
  tree: Tree,
  files: SettingsFile[],
  configDir: string,
): Omit<NamedSources, 'named'> {
  const problems: ConfigurationProblem[] = [];
  const warnings: string[] = [];
  for (const [name, { erp }] of sourcesIn(tree)) {
    problems.push(...refuseSecretsInFiles(tree, files, ['sources', name]));
    const found = resolveSecrets({ erp }, configDir, {});
    problems.push(...found.problems.map((problem) => ({ ...problem, path: `sources.${name}.${problem.path}` })));
    warnings.push(...found.warnings);
  }
  return { problems, warnings };
}

/**
 * Checks the sections of each source as if they stood in the place of the default one's, with the sections that all share. Nothing
 * is written back into a named source.
 */
export function checkNamedSources(
  tree: Tree,
  locate: (segments: Segments) => string | undefined,
): Pick<NamedSources, 'named' | 'problems'> {
  const named: Settings[] = [];
  const problems: ConfigurationProblem[] = [];
  if (isTree(tree.sources) && 'default' in tree.sources)
    problems.push({
      path: 'sources.default',
      message: 'is what commands call the ERP of the section erp',
      hint: 'name it otherwise',
    });
  const isOwn = ({ path }: ConfigurationProblem) => ownSections.some((section) => path.split(/[.[]/)[0] === section);
  const siblings = sourcesIn(tree).map(([name]) => name);
  for (const [name, sections] of sourcesIn(tree)) {
    const own = Object.fromEntries(ownSections.map((section) => [section, sections[section]]));
    const { sources: _, writeBack: __, ...common } = tree;
    const checked = checkSettings({ ...common, ...own }, (segments) =>
      locate(ownSections.some((section) => section === segments[0]) ? ['sources', name, ...segments] : segments),
    );
    for (const { hint: _, ...problem } of checked.problems.filter(isOwn))
      problems.push({ ...problem, path: `sources.${name}.${problem.path}` });
    if (checked.settings !== undefined) named.push({ ...checked.settings, source: name, siblings });
  }
  return { named, problems };
}

/** Two sources that read the same orders: each of them would be sent twice, under two keys. */
export function readTwice(settings: Settings): ConfigurationProblem[] {
  const known = new Map([[ordersOf(settings), 'the section erp']]);
  return (settings.named ?? []).flatMap((one) => {
    const other = known.get(ordersOf(one));
    known.set(ordersOf(one), `sources.${one.source}`);
    if (other === undefined) return [];
    const hint = 'give each source a database of its own, or an orders.query that yields its orders alone';
    return [{ path: `sources.${one.source}`, message: `reads the same orders as ${other}`, hint }];
  });
}

function ordersOf({ erp, orders }: Settings): string {
  const place = isInFile(erp) ? [erp.file] : [erp.type, erp.host, erp.port, erp.database];
  return JSON.stringify([...place, orders.query, orders.pending ?? null]);
}
