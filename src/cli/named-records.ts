import { Option } from 'commander';
import type { Settings } from '../config/settings.js';
import { type Entity, sourceNames, sourceOf } from '../model/record.js';
import {
  AmbiguousName,
  ambiguity,
  type FindBy,
  findBys,
  keysMeant,
  type NamedRecord,
  type Naming,
  recordsMeant,
} from '../operator/find-records.js';
import { tell } from '../words/words.js';
import { UsageError } from './command.js';
import { writeError } from './terminal/streams.js';

/** `--by`: the option that says what a name is. It has no default: that of a subcommand would hide what its parent was given. */
export function byOption(name = '--key'): Option {
  return new Option(
    '--by <what>',
    `what ${name} is where it could be both: the ERP's key, or the number that people know (of an order; of a customer its code)`,
  ).choices(findBys);
}

interface NamingParts {
  settings: Settings;
  source: string | undefined;
  store: { read: <T>(what: string, work: (tx: Parameters<typeof recordsMeant>[0]) => Promise<T>) => Promise<T> };
}

/** The place where this command looks names up. */
export function namingOf({ settings, source }: NamingParts, by: FindBy | undefined, entity?: Entity): Naming {
  return { by: by ?? 'any', entity, source, sources: sourceNames(settings) };
}

/** The records that an action is for, each name exactly one. @throws UsageError */
export async function meantBy(app: NamingParts, names: readonly string[], by: FindBy | undefined, entity?: Entity) {
  const look = () => app.store.read('look for records', (tx) => recordsMeant(tx, names, namingOf(app, by, entity)));
  return look().catch(refuseAmbiguous);
}

/** The keys of the ERP that a command reads. @throws UsageError where a name is also the number of another record */
export async function keysMeantBy(app: NamingParts, names: readonly string[], by: FindBy | undefined, entity: Entity) {
  const naming = { ...namingOf(app, by, entity), entity };
  return app.store.read('look for records', (tx) => keysMeant(tx, names, naming)).catch(refuseAmbiguous);
}

function refuseAmbiguous(error: unknown): never {
  if (!(error instanceof AmbiguousName)) throw error;
  throw new UsageError(`${tell(error.fact)}. Nothing was done. ${howToChoose(error.records)}`);
}

/** The options that tell these records apart. Pure. */
export function howToChoose(records: readonly NamedRecord[]): string {
  const isSeveral = (of: (record: NamedRecord) => string) => new Set(records.map(of)).size > 1;
  const ways = [
    isSeveral(({ entity }) => entity) && 'say whether it is an order or a customer (--entity)',
    (records.length === 1 || isSeveral(({ sourceKey }) => sourceOf(sourceKey))) && 'name the source (--source)',
    isSeveral(({ as }) => as.join()) && 'say what the name is (--by key, or --by number)',
  ].filter((one) => one !== false);
  const all = ways.length > 0 ? ways : ['name one by its key (--by key)'];
  return `Name one exactly: ${all.join('; ')}.`;
}

/** Tells a reader on stderr which names fit several records: all of them are shown. */
export function noteAmbiguous(found: ReadonlyMap<string, readonly NamedRecord[]>): void {
  for (const [name, records] of found)
    if (records.length > 1)
      writeError(`waybill: ambiguous: ${tell(ambiguity(name, records))}. All are shown. ${howToChoose(records)}`);
}
