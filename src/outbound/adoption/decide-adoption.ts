import type { Fact } from '../../model/facts/fact.js';
import type { Entity } from '../../model/record.js';
import type { MessageState, Operation, ParkClass } from '../outbox/message.js';

/** A person's statement: this record of the ERP is that one at the service. */
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
  row: { unmapped: Fact | null; customerCode: string | null } | null;
  binding: { serviceId: string } | null;
  /** The memory of a record that was removed at the service. */
  closed: { revision: number | null; generation: number } | null;
  /** Oldest first. */
  messages: readonly AdoptableMessage[];
  /** Key of another record that has this id at the service, or null. */
  idBelongsTo: string | null;
  /** Waybill has removed the record of this id at the service. */
  isRemoved: boolean;
}

export type AdoptionDecision =
  /**
   * `supersedes`: messages that never go out, because the service has the record. `isOurs`: we may have sent it, and the ERP may
   * have changed it since, so what the service holds of it is unknown.
   */
  | { to: 'bound'; revision: number; generation: number; supersedes: number[]; newest: number | null; isOurs: boolean }
  /** It is bound to this id already. */
  | { to: 'known' }
  | { to: 'refused'; why: Fact };

/**
 * The consequences of a person's statement about a record at the service. Pure; one question a paragraph.
 * @param idIsCode whether the service knows customers by their code, and by no id of its own
 */
export function decideAdoption(claim: AdoptionClaim, record: AdoptableRecord, idIsCode: boolean): AdoptionDecision {
  const { entity, serviceId } = claim;
  const { row, binding, closed, messages, idBelongsTo, isRemoved } = record;
  if (binding?.serviceId === serviceId) return { to: 'known' };
  if (binding) return refuse({ code: 'has_other_id', boundTo: binding.serviceId });
  if (idBelongsTo !== null) return refuse({ code: 'id_is_of_other', entity, sourceKey: idBelongsTo, serviceId });
  if (isRemoved) return refuse({ code: 'id_was_removed', entity, serviceId });

  if (row === null) return refuse({ code: 'key_not_in_erp' });
  if (row.unmapped !== null) return refuse({ code: 'nothing_to_compare', problem: row.unmapped });
  // If the service gives no ids of its own, a customer's address is made from its code.
  if (entity === 'customer' && idIsCode && row.customerCode !== serviceId)
    return refuse({ code: 'code_is_other', found: row.customerCode, serviceId });

  if (messages.some(({ state }) => state === 'sending')) return refuse({ code: 'is_being_sent' });
  const mayExist = ({ state, parkClass }: AdoptableMessage) =>
    state === 'in_doubt' || (state === 'parked' && parkClass === 'unproven');

  const newest = messages.at(-1);
  if (newest?.operation === 'delete' && newest.state === 'delivered') return refuse({ code: 'was_removed_by_us' });
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

function refuse(why: Fact): AdoptionDecision {
  return { to: 'refused', why };
}
