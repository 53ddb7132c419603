import type { Command } from 'commander';
import type { Entity, JsonValue } from '../model/record.js';
import { shorten } from '../operator/format.js';
import { type Adoption, countAdoptions, differingFields, listAdoptions } from '../outbound/outbox/adoptions.js';
import { actionCommands } from './actions/action-commands.js';
import { exportBindings } from './bindings-file.js';
import { type CommandApp, defined, describeCommand, entityOption, inApp, jsonCommand, limitOption } from './command.js';
import { writeGivenFile } from './given-file.js';

const maxFields = 20;
const maxValueLength = 60;

export function bindingsCommand(): Command {
  const bindings = describeCommand(
    'bindings',
    'Export what the service has acknowledged of each record, regularly: it helps to recover a lost store.',
    'waybill bindings export bindings-2026-11-21.jsonl',
  );
  for (const one of [exportCommand(), adoptedCommand(), ...actionCommands('bindings')]) bindings.addCommand(one);
  return bindings;
}

function exportCommand(): Command {
  return jsonCommand(
    'export',
    'Write every binding into a new file, as JSON lines. `waybill recover --bindings FILE` reads it.',
    'waybill bindings export bindings-2026-11-21.jsonl',
  )
    .argument('<file>', 'a file that does not exist yet; it will hold personal data (mode 0600). `-` is stdout')
    .action(
      inApp(
        async ({ store, settings, output }, _options: unknown, file: string) => {
          const bindings = await writeGivenFile(file, settings, (name) => exportBindings(store, settings, name));
          // Then stdout is the export.
          if (file === '-') return;
          output.json({ file, bindings });
          output.line(`${bindings} bindings are in ${file}.`);
        },
        { needsStore: true },
      ),
    );
}

function adoptedCommand(): Command {
  return jsonCommand(
    'adopted',
    'List the records that the service already had, and the fields in which they differ from the ERP.',
    'waybill bindings adopted --open',
  )
    .option('--open', 'only those with differences that `waybill confirm` has not settled yet')
    .addOption(entityOption())
    .addOption(limitOption('how many at most', 50))
    .action(inApp(showAdopted, { readOnly: true }));
}

async function showAdopted(
  { store, output }: CommandApp,
  { open, entity, limit }: { open?: boolean; entity?: Entity; limit: number },
): Promise<void> {
  const { counts, adoptions, fields } = await store.read('list adopted records', async (tx) => {
    const adoptions = await listAdoptions(tx, defined({ entity, onlyOpen: open }), null, limit);
    return { counts: await countAdoptions(tx), adoptions, fields: await differingFields(tx, adoptions) };
  });
  const adopted = adoptions.map((one) => ({
    ...one,
    fields: (fields.get(`${one.entity} ${one.sourceKey}`) ?? [])
      .slice(0, maxFields)
      .map(({ field, erp, service }) => ({ field, erp: inWords(erp), service: inWords(service) })),
  }));
  output.jsonWithTimes({ ...counts, adopted });
  output.line(
    `${counts.customers} customers and ${counts.orders} orders were adopted. ${counts.open} of them differ and wait for a person.`,
  );
  if (adopted.length === 0) return;
  output.table(
    ['entity', 'key', 'at the service', 'adopted', 'from', 'differed in', 'looked at'],
    adopted.map((one) => [
      one.entity,
      one.sourceKey,
      one.serviceId,
      output.time(one.adoptedAt),
      sources[one.from],
      one.differs === null ? 'not compared' : shorten(one.differs.join(', ') || 'nothing', 50),
      one.reviewedAt === null ? unreviewed(one.differs) : output.time(one.reviewedAt),
    ]),
  );
  const differing = adopted.flatMap(({ entity: kind, sourceKey, fields: own }) =>
    own.map(({ field, erp, service }) => [kind, sourceKey, field, erp ?? '(not shown)', service ?? '(not shown)']),
  );
  if (differing.length > 0) {
    output.table(['entity', 'key', 'field', 'in the ERP', 'at the service'], differing);
    output.line('To send what the ERP says, or to leave the service as it is: waybill confirm --help');
  }
  if (adopted.length === limit) output.line(`At most ${limit} are shown (--limit).`);
}

const sources: Record<Adoption['from'], string> = { answer: 'the answer', look_up: 'a look-up', file: 'a list' };

/** Undefined: that side does not have the field. */
function inWords(value: JsonValue | undefined): string | undefined {
  if (value === undefined) return undefined;
  return shorten(typeof value === 'string' ? value : JSON.stringify(value), maxValueLength);
}

/** An adoption without differences needs no review. */
function unreviewed(differs: readonly string[] | null): string {
  return differs?.length ? 'not yet' : '';
}
