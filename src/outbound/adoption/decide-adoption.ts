import type { Entity } from '../../model/record.js';
import type { MessageState, Operation, ParkClass } from '../outbox/message.js';

/** What a person says: this record of the ERP is that one at the service. */
export interface AdoptionClaim {
  entity: Entity;
  sourceKey: string;
  serviceId: string;
}

export interface AdoptableMessage {
  id: number;
  revision: number;
  operation: Operation;
  generation: number;
  state: MessageState;
  parkClass: ParkClass | null;
}

export interface AdoptableRecord {
  /** The eligible row of the ERP; null: there is none. */
  row: { unmapped: string | null; customerCode: string | null } | null;
  binding: { serviceId: string } | null;
  /** What is remembered of a record that was removed at the service. */
  closed: { revision: number; generation: number } | null;
  /** Oldest first. */
  messages: readonly AdoptableMessage[];
  /** Key of another record that has this id at the service, or null. */
  idBelongsTo: string | null;
}

export type AdoptionDecision =
  /**
   * `supersedes`: messages that never go out, because the service has the record. `isOurs`: we may have sent it, and the ERP may
   * have changed it since, so what the service holds of it is unknown.
   */
  | { to: 'bound'; revision: number; generation: number; supersedes: number[]; newest: number | null; isOurs: boolean }
  /** It is bound to this id already. */
  | { to: 'known' }
  | { to: 'refused'; why: string };

/**
 * What follows from what a person says a record is at the service. Pure; one question a paragraph.
 * @param idIsCode whether the service knows customers by their code, and by no id of its own
 */
export function decideAdoption(claim: AdoptionClaim, record: AdoptableRecord, idIsCode: boolean): AdoptionDecision {
  const { entity, serviceId } = claim;
  const { row, binding, closed, messages, idBelongsTo } = record;
  if (binding?.serviceId === serviceId) return { to: 'known' };
  if (binding) return refuse(`it is bound to ${binding.serviceId} already`);
  if (idBelongsTo !== null) return refuse(`${serviceId} is the ${entity} with the key ${idBelongsTo} already`);

  if (row === null)
    return refuse(
      'no eligible row of the ERP has this key; keys are compared letter by letter, and a spreadsheet may have dropped zeros before a number',
    );
  if (row.unmapped !== null)
    return refuse(`its row can't be mapped, so that Waybill has nothing to compare with: ${row.unmapped}`);
  // Where the service gives no ids of its own, a customer's address is made from its code.
  if (entity === 'customer' && idIsCode && row.customerCode !== serviceId)
    return refuse(`the service knows customers by their code, and the ERP says ${row.customerCode}, not ${serviceId}`);

  if (messages.some(({ state }) => state === 'sending'))
    return refuse('it is being sent right now: try again in a minute');
  const mayExist = ({ state, parkClass }: AdoptableMessage) =>
    state === 'in_doubt' || (state === 'parked' && parkClass === 'unproven');

  const newest = messages.at(-1);
  if (newest?.operation === 'delete' && newest.state === 'delivered')
    return refuse('it was removed at the service by Waybill; a row that is back is sent as a new record');
  return {
    to: 'bound',
    // A removal that was imported may be newer than what this store has said of the record.
    revision: Math.max(newest?.revision ?? 0, closed?.revision ?? 0),
    generation: Math.max(newest?.generation ?? 0, closed?.generation ?? 0),
    supersedes: messages.filter(({ state }) => ['pending', 'in_doubt', 'parked'].includes(state)).map(({ id }) => id),
    newest: newest?.id ?? null,
    isOurs: messages.some(mayExist),
  };
}

function refuse(why: string): AdoptionDecision {
  return { to: 'refused', why };
}
