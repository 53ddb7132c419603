import { Argument, type Command, Option } from 'commander';
import { type Entity, entities } from '../../model/record.js';
import type { SubjectKind, Subjects } from '../../operator/actions/action.js';
import type { FindBy } from '../../operator/find-records.js';
import type { MessageFilter } from '../../operator/list-messages.js';
import { type MessageState, messageStates, type ParkClass, parkClasses } from '../../outbound/outbox/message.js';
import { says } from '../../words/words.js';
import { type CommandApp, defined, entityOption, repeatable, sourceOption, UsageError } from '../command.js';
import { byOption, meantBy } from '../named-records.js';
import { readNamedRecords } from '../record-list.js';

export interface FilterOptions {
  state?: MessageState;
  entity?: Entity;
  key?: string[];
  by?: FindBy;
  class?: ParkClass;
  reasonLike?: string;
}

interface MessageOptions extends FilterOptions {
  file?: string;
  yes?: boolean;
  delivered?: boolean;
  serviceId?: string;
}

/** The way in which a command line names a subject: its options, what it refuses, and what it makes of them. */
export interface SubjectReader<S extends SubjectKind, Options = object> {
  declare(command: Command, entitiesMeant: readonly Entity[]): Command;
  /** @throws UsageError */
  check?(options: Options, command: Command): void;
  read(app: CommandApp, options: Options, given: readonly string[]): Promise<Subjects[S]>;
}

export function withFilters(command: Command): Command {
  return command
    .addOption(new Option('--state <state>', 'only this state').choices(messageStates))
    .addOption(entityOption())
    .addOption(repeatable('--key <key>', 'only this ERP key, order number or customer code'))
    .addOption(byOption())
    .addOption(sourceOption())
    .addOption(new Option('--class <class>', 'only parked messages of this class').choices(parkClasses))
    .option('--reason-like <text>', 'only where the reason contains this text');
}

/** Everything but the names of records. */
export function filterOf(
  { source }: CommandApp,
  { state, entity, class: parkClass, reasonLike }: FilterOptions,
): MessageFilter {
  return defined({
    states: state && [state],
    entity,
    source,
    parkClass,
    isReason: reasonLike === undefined ? undefined : says(reasonLike),
  });
}

const messages: SubjectReader<'messages', MessageOptions> = {
  declare: (command) =>
    withFilters(command).option(
      '--file <csv>',
      'only the records in this list: a key or number a line, with --delivered also the id; - is stdin',
    ),
  check: ({ state, entity, key, class: parkClass, reasonLike, file, serviceId, yes }, command) => {
    if (file !== undefined) {
      if (entity === undefined) throw new UsageError('--file needs --entity: a customer and an order may share a key.');
      if (serviceId !== undefined || key)
        throw new UsageError('--file names the records and their ids: leave out --key and --service-id.');
      if (file === '-' && !yes)
        throw new UsageError('--file - takes the list from stdin, where no answer can be read: confirm with --yes.');
    }
    // An option of the list that the action ignores would widen what it acts on.
    for (const option of ['limit', 'groupBy'])
      if (command.parent?.getOptionValueSource(option) === 'cli')
        throw new UsageError(
          `--limit and --group-by belong to the list; ${command.name()} acts on everything that matches.`,
        );
    if ([state, entity, key, parkClass, reasonLike].every((one) => one === undefined))
      throw new UsageError(
        'Say which messages: --key, --entity, --state, --class or --reason-like. Look first: waybill outbox --state parked',
      );
  },
  read: async (app, options) => {
    const { file, delivered, key, by, entity } = options;
    const list = file === undefined ? undefined : await readNamedRecords(file, delivered ? 2 : 1);
    const records = key && (await meantBy(app, key, by, entity));
    return { filter: { ...filterOf(app, options), ...defined({ records }) }, ...(list && { list }) };
  },
};

const record: SubjectReader<'record', { by?: FindBy }> = {
  declare: (command, entitiesMeant) =>
    command
      .addArgument(new Argument('<entity>', 'what it is').choices(entitiesMeant))
      .argument('<key>', 'its key in the ERP, its number, or its code')
      .addOption(byOption('KEY'))
      .addOption(sourceOption()),
  read: async (app, { by }, [what, name = '']) => {
    const entity = entities.find((one) => one === what) as Entity;
    const [found] = await meantBy(app, [name], by, entity);
    return { entity, sourceKey: found?.sourceKey ?? app.keyOf(name) };
  },
};

/** Subjects of the actions whose commands are made from the table of actions alone. */
export const subjectReaders: { [S in SubjectKind]?: SubjectReader<S> } = { messages, record };
