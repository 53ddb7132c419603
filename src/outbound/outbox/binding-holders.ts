import type { Fact } from '../../model/facts/fact.js';
import type { Entity, JsonValue } from '../../model/record.js';
import { padded, placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { MessageState } from './message.js';

/** A record of the ERP, and the id at the service that it is to be bound to. */
export interface BindingClaim {
  entity: string;
  sourceKey: string;
  serviceId: string;
  /**
   * The id that this one takes the place of, because the service knows the record by a field of ours that was changed, such as a
   * customer's code. Absent: none.
   */
  renamedFrom?: string | null | undefined;
  /**
   * Nothing but a record that stands at the service leads to this claim: a look-up, an answer "already exists" or a list. A service
   * may go on showing a record that was removed. Absent: the service acknowledged the id just now, or a person vouches for it.
   */
  isFound?: boolean | undefined;
}

/** Why a record can't be bound to an id. */
export type BindingProblem =
  /** Another record of ours has the id. */
  | { kind: 'taken'; heldBy: string }
  /** The record has another id. Only a person who names both moves a binding (`moveBinding`). */
  | { kind: 'bound'; boundTo: string }
  /** Waybill has removed the record that has this id. */
  | { kind: 'removed' };

/** `open`: read again and again. `final`: nothing more happens to it. `gone`: the service has it no more; asked for still. */
export type ReadState = 'open' | 'final' | 'gone';

/** The service's last words about an order; all null: it was never read. */
export interface OrderReading {
  state: ReadState;
  status: string | null;
  total: number | null;
  /** Why a person should look, or null. */
  flag: Fact | null;
}

/** The state that the service gives an order, in its own words; null: it left that out. */
export interface OrderWords {
  status: string | null;
  total: number | null;
}

/** A person's word that a record is at the service under its id, which the service has not acknowledged since. */
export interface SaidBinding {
  by: string;
  /** The service's answer for the id: `same`, or the reason why that is not known. */
  check: string;
}

interface BoundRow extends BindingClaim, OrderWords {
  saidBy: string | null;
  saidCheck: string | null;
}

const unsaid: OrderWords = { status: null, total: null };

/**
 * Which record of the ERP holds which id of the service, as far as some claims are concerned. An id belongs to one record: a
 * second record that was bound to it would overwrite the first with its next edit. A record has one id: if a second one took its
 * place, Waybill would forget the record that stands at the service under the first. Bindings are written only with the
 * answer of this question (`bindRecords`). It holds until the transaction ends, because each that binds has the `service` lease
 * or has locked it (`lockLease`) before it asks; the schema forbids what slips through.
 */
export class BindingHolders {
  readonly #keysById = new Map<string, string>();
  readonly #bound = new Map<string, BoundRow>();
  readonly #removed = new Set<string>();

  /** Asks once for all claims. If several claim an id that is free, the first of them gets it. */
  static async of(tx: Tx, claims: readonly BindingClaim[]): Promise<BindingHolders> {
    const holders = new BindingHolders();
    const parts: string[] = [];
    const parameters: string[] = [];
    for (const entity of new Set(claims.map((claim) => claim.entity))) {
      const some = claims.filter((claim) => claim.entity === entity);
      for (const [column, values] of [
        ['service_id', padded(some.map(({ serviceId }) => serviceId))],
        ['source_key', padded(some.map(({ sourceKey }) => sourceKey))],
      ] as const) {
        parts.push(
          `SELECT entity, source_key, service_id, service_status AS status, service_total AS total, said_by, said_check FROM binding
            WHERE entity=? AND ${column} IN ${placeholders(values.length)}`,
        );
        parameters.push(entity, ...values);
      }
    }
    const rows = parts.length === 0 ? [] : await tx.rows<BoundRow>(parts.join(' UNION ALL '), parameters);
    for (const row of rows) {
      const { entity, sourceKey, serviceId } = row;
      holders.#bound.set(nameOf(entity, sourceKey), row);
      holders.#keysById.set(nameOf(entity, serviceId), sourceKey);
    }
    for (const { entity, serviceId } of await removedOf(tx, claims)) holders.#removed.add(nameOf(entity, serviceId));
    for (const { entity, sourceKey, serviceId } of claims) {
      const id = nameOf(entity, serviceId);
      if (!holders.#keysById.has(id)) holders.#keysById.set(id, sourceKey);
    }
    return holders;
  }

  /** Why the claim can't be bound; null: it may be. */
  problemOf({ entity, sourceKey, serviceId, renamedFrom, isFound }: BindingClaim): BindingProblem | null {
    const holder = this.#keysById.get(nameOf(entity, serviceId));
    if (holder === undefined)
      throw new Error(`The ${entity} ${serviceId} was not among the claims whose holders were asked for.`);
    if (holder !== sourceKey) return { kind: 'taken', heldBy: holder };
    const boundTo = this.boundTo(entity, sourceKey);
    const isOther = boundTo !== null && boundTo !== serviceId && boundTo !== renamedFrom;
    if (isOther) return { kind: 'bound', boundTo };
    // An id that a record has is one that the service has given again since.
    const isRemoved = isFound === true && boundTo !== serviceId && this.#removed.has(nameOf(entity, serviceId));
    return isRemoved ? { kind: 'removed' } : null;
  }

  /** The id of the record; null: it has none yet. */
  boundTo(entity: string, sourceKey: string): string | null {
    return this.#bound.get(nameOf(entity, sourceKey))?.serviceId ?? null;
  }

  /** Whose word the binding of the record is; null: the service's, or there is none. */
  saidOf({ entity, sourceKey }: Pick<BindingClaim, 'entity' | 'sourceKey'>): SaidBinding | null {
    const { saidBy = null, saidCheck } = this.#bound.get(nameOf(entity, sourceKey)) ?? {};
    return saidBy === null ? null : { by: saidBy, check: saidCheck ?? '' };
  }

  isBound(entity: string, sourceKey: string): boolean {
    return this.boundTo(entity, sourceKey) !== null;
  }

  /** The service's last words about this record under this id. */
  wordsOf({ entity, sourceKey, serviceId }: BindingClaim): OrderWords {
    const bound = this.#bound.get(nameOf(entity, sourceKey));
    return bound?.serviceId === serviceId ? bound : unsaid;
  }
}

/** Describes the problem, with the two ids or records that a person has to look at. Pure. */
export function problemInWords({ entity, serviceId }: BindingClaim, problem: BindingProblem): string {
  if (problem.kind === 'taken') return `${serviceId} is the ${entity} with the key ${problem.heldBy} already`;
  if (problem.kind === 'removed') return `${serviceId} is the ${entity} that Waybill has removed at the service`;
  return `this ${entity} is ${problem.boundTo} at the service already, and ${serviceId} is another one there`;
}

async function removedOf(
  tx: Tx,
  claims: readonly BindingClaim[],
): Promise<Pick<BindingClaim, 'entity' | 'serviceId'>[]> {
  const found = claims.filter(({ isFound }) => isFound);
  const rows: Pick<BindingClaim, 'entity' | 'serviceId'>[] = [];
  for (const entity of new Set(found.map((claim) => claim.entity))) {
    const ids = padded(found.filter((claim) => claim.entity === entity).map(({ serviceId }) => serviceId));
    const sql = `SELECT entity, service_id FROM removed_id WHERE entity=? AND service_id IN ${placeholders(ids.length)}`;
    rows.push(...(await tx.rows<Pick<BindingClaim, 'entity' | 'serviceId'>>(sql, [entity, ...ids])));
  }
  return rows;
}

/** A record that has no binding, and may be at the service all the same. */
export interface UnprovenTwin {
  sourceKey: string;
  /** The fields that it shares with the other one. */
  shares: string;
  /** Its outcome may be known soon. */
  isOnItsWay: boolean;
}

/**
 * Another record that people and the service know by the same number or code as that of a create, and that may have been made
 * there: what is found by that name may be either of the two.
 * @param askedBy the fields by which the service was asked: whatever has them all in common is found as well
 */
export async function unprovenTwin(
  tx: Tx,
  entity: Entity,
  createId: number,
  askedBy: Readonly<Record<string, JsonValue>> = {},
): Promise<UnprovenTwin | null> {
  const select = `SELECT t.source_key, t.state
       FROM outbox_message m JOIN outbox_message t ON t.entity=m.entity`;
  const mayBeThere = `m.id=? AND t.source_key<>m.source_key AND t.operation='create' AND b.source_key IS NULL
        AND t.state IN ('sending','in_doubt','parked','discarded') AND (t.park_class IS NULL OR t.park_class='unproven')
        AND t.was_sent=1`;
  const unbound = 'LEFT JOIN binding b ON b.entity=t.entity AND b.source_key=t.source_key';
  const first = 'ORDER BY t.state, t.id LIMIT 1';
  const name = entity === 'order' ? 'number' : 'identity';
  const fields = Object.entries(askedBy);
  const says = fields.map(([field, value]) => `${JSON.stringify(field)}:${JSON.stringify(value)}`);
  const questions: [shares: string, sql: string, ...parameters: string[]][] = [
    [
      entity === 'order' ? 'number' : 'code',
      `${select} AND t.${name}=m.${name} ${unbound} WHERE ${mayBeThere} ${first}`,
    ],
  ];
  // The bodies are canonical JSON, so a field is the same text in each.
  if (says.length > 0)
    questions.push([
      fields.map(([field]) => field).join(' and '),
      `${select} ${unbound} JOIN message_body y ON y.message_id=t.id
        WHERE ${mayBeThere} ${says.map(() => `AND ${tx.dialect.contains('y.record', '?')}`).join(' ')} ${first}`,
      ...says,
    ]);
  for (const [shares, sql, ...parameters] of questions) {
    const [twin] = await tx.rows<{ sourceKey: string; state: MessageState }>(sql, [createId, ...parameters]);
    if (twin) return { sourceKey: twin.sourceKey, shares, isOnItsWay: ['sending', 'in_doubt'].includes(twin.state) };
  }
  return null;
}

function nameOf(entity: string, value: string): string {
  return `${entity} ${value}`;
}
