import type { Entity } from '../model/entity.js';
import { placeholders } from '../store/rows.js';
import type { SqlValue } from '../store/store.js';
import type { MessageState, ParkClass } from './message.js';

/** Which messages are meant. What is absent filters nothing. */
export interface MessageFilter {
  states?: readonly MessageState[];
  entity?: Entity;
  /** Keys of the ERP, or the numbers that people know. */
  keys?: readonly string[];
  parkClass?: ParkClass;
  /** Text that the reason contains, in any case. */
  reasonLike?: string;
}

/** The filter as a condition over table `m`, with its parameters. */
export function filterSql(filter: MessageFilter): { where: string; parameters: SqlValue[] } {
  const conditions: string[] = ['1=1'];
  const parameters: SqlValue[] = [];
  if (filter.states) {
    conditions.push(`m.state IN ${placeholders(filter.states.length)}`);
    parameters.push(...filter.states);
  }
  if (filter.entity) {
    conditions.push('m.entity=?');
    parameters.push(filter.entity);
  }
  if (filter.keys) {
    // The entities are named so that both indexes, which begin with the entity, can be used.
    const list = placeholders(filter.keys.length);
    conditions.push(`m.entity IN ('customer','order') AND (m.source_key IN ${list} OR m.number IN ${list})`);
    parameters.push(...filter.keys, ...filter.keys);
  }
  if (filter.parkClass) {
    conditions.push("m.state='parked' AND m.park_class=?");
    parameters.push(filter.parkClass);
  }
  if (filter.reasonLike !== undefined) {
    conditions.push("LOWER(m.reason) LIKE LOWER(?) ESCAPE '!'");
    parameters.push(`%${filter.reasonLike.replace(/[!%_]/g, '!$&')}%`);
  }
  return { where: conditions.join(' AND '), parameters };
}
