import { type Command, Option } from 'commander';
import { type App, secretsOf } from '../app.js';
import type { JsonValue } from '../model/record.js';
import { type DifferingField, differingFields } from '../outbound/adoption/adopted-fields.js';
import { type Adoption, countAdoptions, listAdoptions } from '../outbound/outbox/adoptions.js';
import { exportBindings } from './bindings-file.js';
import {
  type CommonOptions,
  describeCommand,
  exitCode,
  positiveInteger,
  print,
  printJson,
  withApp,
} from './command.js';
import { isoFormatter, timeFormatter } from './terminal/format.js';
import { Output, shorten } from './terminal/output.js';

interface AdoptedOptions extends CommonOptions {
  open?: boolean;
  entity?: 'customer' | 'order';
  limit: number;
}

const defaultLimit = 50;
const maxFields = 20;
const maxValueLength = 60;

export function adoptedCommand(): Command {
  return describeCommand({
    name: 'adopted',
    summary: 'Records that the service had already, and the fields in which they differ from the ERP.',
    example: 'waybill bindings adopted --open',
    json: true,
  })
    .option('--open', 'only those with differences that nobody has looked at yet (`waybill confirm`)')
    .addOption(new Option('--entity <entity>', 'only customers or only orders').choices(['customer', 'order']))
    .option('--limit <n>', 'how many at most', positiveInteger, defaultLimit)
    .action(async (_options: AdoptedOptions, command: Command) => {
      // --config is an option of `bindings` too, and that is where the parser puts it.
      const options = command.optsWithGlobals<AdoptedOptions>();
      await withApp('bindings', options, (app) => showAdopted(app, options), { readOnly: true });
    });
}

async function showAdopted(app: App, { open, entity, limit, json }: AdoptedOptions): Promise<number> {
  const output = new Output(secretsOf(app.settings));
  const { counts, adoptions, fields } = await app.store.read('list adopted records', async (tx) => {
    const filter = { ...(entity ? { entity } : {}), ...(open ? { onlyOpen: true } : {}) };
    const adoptions = await listAdoptions(tx, filter, null, limit);
    return { counts: await countAdoptions(tx), adoptions, fields: await differingFields(tx, adoptions) };
  });
  const fieldsOf = (one: Adoption) => (fields.get(`${one.entity} ${one.sourceKey}`) ?? []).slice(0, maxFields);
  const { timeZone } = app.settings.erp;
  if (json) {
    const iso = isoFormatter(timeZone);
    await output.printJson({
      ...counts,
      adopted: adoptions.map((one) => ({
        ...one,
        adoptedAt: iso(one.adoptedAt),
        reviewedAt: one.reviewedAt === null ? null : iso(one.reviewedAt),
        fields: fieldsOf(one).map(({ field, erp, service }) => ({
          field,
          erp: inJson(erp),
          service: inJson(service),
        })),
      })),
    });
    return exitCode.done;
  }
  await output.line(
    `${counts.customers} customers and ${counts.orders} orders were adopted; of ${counts.open} somebody has to look at what differs.`,
  );
  if (adoptions.length === 0) return exitCode.done;
  const time = timeFormatter(timeZone);
  await output.table(
    ['entity', 'key', 'at the service', 'adopted', 'from', 'differed in', 'looked at'],
    adoptions.map((one) => [
      one.entity,
      one.sourceKey,
      one.serviceId,
      time(one.adoptedAt),
      fromInWords[one.from],
      one.differs === null ? 'not compared' : shorten(one.differs.join(', ') || 'nothing', 50),
      one.reviewedAt !== null ? time(one.reviewedAt) : one.differs?.length ? 'not yet' : '',
    ]),
  );
  const differing = adoptions.flatMap((one) => fieldsOf(one).map((field) => ({ one, field })));
  if (differing.length > 0) {
    await output.table(
      ['entity', 'key', 'field', 'in the ERP', 'at the service'],
      differing.map(({ one, field }) => [
        one.entity,
        one.sourceKey,
        field.field,
        inWords(field.erp),
        inWords(field.service),
      ]),
    );
    await output.line('To send what the ERP says, or to leave it as it is there: waybill confirm --help');
  }
  if (adoptions.length === limit) await output.line(`At most ${limit} are shown (--limit).`);
  return exitCode.done;
}

const fromInWords: Record<Adoption['from'], string> = {
  answer: 'the answer',
  look_up: 'a look-up',
  file: 'a list',
};

function inWords(value: DifferingField['erp']): string {
  if (value === undefined) return '(not shown)';
  return shorten(typeof value === 'string' ? value : JSON.stringify(value), maxValueLength);
}

/** Undefined is no JSON: a side that does not have the field does not name it. */
function inJson(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : inWords(value);
}

export function bindingsCommand(): Command {
  const command = describeCommand({
    name: 'bindings',
    summary: 'What the service has acknowledged of each record. Export it now and then: it brings a lost store back.',
    example: 'waybill bindings export bindings-2026-11-21.jsonl',
  });
  command.addCommand(
    describeCommand({
      name: 'export',
      summary: 'Write every binding into a new file, as JSON lines. `waybill recover --bindings FILE` reads it.',
      example: 'waybill bindings export bindings-2026-11-21.jsonl',
      json: true,
    })
      .argument('<file>', 'a file that does not exist yet; it will hold personal data (mode 0600)')
      .action(async (file: string, _options: CommonOptions, command: Command) => {
        // --config is an option of `bindings` too, and that is where the parser puts it.
        const options = command.optsWithGlobals<CommonOptions>();
        await withApp('bindings', options, async ({ store, settings }) => {
          const count = await exportBindings(store, settings, file);
          if (options.json) printJson({ file, bindings: count });
          else print(`${count} bindings are in ${file}.`);
          return exitCode.done;
        });
      }),
  );
  command.addCommand(adoptedCommand());
  return command;
}
