import type { ErpReader } from '../../erp/erp-reader.js';
import type { ListedInvoice } from '../../inbound/invoices/list-invoices.js';
import type { ChangeFact, ClaimCheck, RefusalFact } from '../../model/facts/actions.js';
import type { Fact } from '../../model/facts/fact.js';
import { Refused } from '../../model/facts/failure.js';
import type { Entity } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import type { ParkClass } from '../../outbound/outbox/message.js';
import type { ServiceClient } from '../../service/service-client.js';
import type { Lane } from '../../store/lane-pauses.js';
import type { Cause } from '../figures/group-parked.js';
import type { MessageFilter } from '../list-messages.js';
import type { SyncOptions } from '../sync.js';

/** The tools of an action. The desk has neither client nor reader: it leaves that work to the daemon. */
export interface ActionContext extends JobContext {
  client: (() => Promise<ServiceClient> | ServiceClient) | null;
  reader: (() => Promise<ErpReader>) | null;
  /** The person is asked to insist after seeing what the service said, and not before. */
  asksToInsist: boolean;
  /** No more records than these are touched at once. */
  most: number;
  /** The observer of a longer action: it hears of progress, and may stop the action. */
  watch?: Pick<SyncOptions, 'signal' | 'onProgress'>;
}

/** Records that a person lists, with what the list says of them. */
export interface NamedRecords {
  /** Ids at the service by the key in the ERP, or by the number; null where the list names no ids. */
  idByKey: ReadonlyMap<string, string | null>;
  /** Lines that are no use, and why. */
  unusable: readonly { key: string; problem: RefusalFact }[];
}

export interface NamedRecord {
  entity: Entity;
  sourceKey: string;
}

/** The choices before an action; each face has one way to read each kind. */
export interface Subjects {
  /** Messages that match a filter or share a cause, or those of the records in a list. */
  messages: {
    filter: MessageFilter;
    cause?: Cause;
    list?: NamedRecords;
  };
  /** Changes on hold: of an entity, of a source, or of single records. */
  held: { entity?: Entity; source?: string; records?: readonly NamedRecord[] };
  record: NamedRecord;
  jobs: readonly Lane[];
  none: null;
}
export type SubjectKind = keyof Subjects;

/** The further words of a person. A text is typed, a flag is set or not; to insist, a person has looked at the service. */
type Input = { kind: 'text'; placeholder: string; isRequired?: boolean } | { kind: 'flag' | 'insist' };
export type Inputs = { readonly [name: string]: Input };
export type Given<I extends Inputs = Inputs> = {
  readonly [Name in keyof I]: I[Name] extends { kind: 'flag' | 'insist' } ? boolean : string | null;
};

/** An action on one record now: it can be done, once these inputs are given; or why it can't. */
export type Offer = { needs: readonly string[] } | { why: Fact };

/** One thing that people do, for the command line and the desk to draw. `src/words` has its labels. */
export interface Action<S extends SubjectKind = SubjectKind, I extends Inputs = Inputs> {
  /** The people who may do it at the desk. Whoever has a shell and the settings may do all. */
  role: 'act';
  subject: S;
  inputs: I;
  /** The command that does it, and its option that chooses this action from those of the same command. */
  command?: { path: readonly string[]; choice?: string };
  /** Causes on the desk that it may settle for all their records at once. */
  causes?: readonly ParkClass[];
  /** It is offered for all messages that a filter of the outbox shows. */
  onList?: true;
  /** Records that it is for; absent: customers and orders. */
  entities?: readonly Entity[];
  /** Data goes for good, so a page shows it apart from the others. */
  isFinal?: true;
  /** It can be taken back at once, so a terminal does not ask for a yes. */
  isHarmless?: true;
  /** The plan that a person sees and agrees to. Writes nothing. @throws WrongAction */
  preview(context: ActionContext, subject: Subjects[S], given: Given<I>): Promise<Preview>;
  /** Says whether it is possible for a record; null: it has nothing to do with such a record. Writes nothing. */
  offer?(context: ActionContext, record: NamedRecord): Promise<Offer | null>;
}

/** A record, as a preview shows it. */
export interface PreviewRow extends NamedRecord {
  number: string | null;
  what: string;
  state: string;
  /** Why it waits; null: nothing says why. */
  why: Fact | null;
  becomes: ChangeFact;
}

/** A record that is left alone; entity null: the line of a list that names none. */
export interface LeftAlone {
  entity: Entity | null;
  key: string;
  number: string | null;
  why: Fact;
}

/** Records that are left alone for one reason: how many, and some of them; of a list all. */
export interface Skipped {
  why: Fact;
  count: number;
  examples: LeftAlone[];
}

/** The records that would change, and the effect that does just that. */
export interface Preview {
  /** Records, messages or lines that were named. */
  matched: number;
  /** Those of them that it would be done to. */
  count: number;
  /** There is something to do besides them. */
  isMore?: boolean;
  /** False where more match than are touched at once. */
  isAll: boolean;
  /** Some of them. */
  rows: readonly PreviewRow[];
  skipped: readonly Skipped[];
  /** Ids at the service that a person names, and what it has under them. */
  claims?: readonly { serviceId: string; check: ClaimCheck }[];
  /** Every record stands in a list of the person's, which names each that is skipped. */
  isListed?: boolean;
  invoices?: readonly ListedInvoice[];
  /** The sums of the orders, or of the invoices, by currency. */
  totals?(): Promise<Map<string, bigint>>;
  /** Facts that a person has to know first. */
  notes?: readonly Fact[];
  /** The effects if many records are meant, each with its count. */
  spread?: readonly { what: Fact; count: number }[];
  /** More of it for programs. */
  data?: object;
  /** Does what was shown to what is still as it was shown, with its line in the audit. */
  act(context: ActionContext, word: Word): Promise<Outcome>;
}

/** A person's reason, and whether they insist that a record is there though the service does not show it. */
interface Word {
  reason: string;
  insists: boolean;
}

export interface Outcome {
  done: number;
  left: LeftAlone[];
  notes?: readonly Fact[];
  data?: object;
}

/** The request makes no sense. */
export class WrongAction extends Refused {
  override readonly name = 'WrongAction';
}

/** An action with its types inferred. */
export function action<S extends SubjectKind, const I extends Inputs>(one: Action<S, I>): Action<S, I> {
  return one;
}
