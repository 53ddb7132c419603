import type { Entity } from '../model/entity.js';
import type { Grouping } from '../outbox/group-messages.js';
import type { MessageState, ParkClass } from '../outbox/message.js';
import type { MessageFilter } from '../outbox/message-filter.js';
import type { CommonOptions } from './command.js';

export interface FilterOptions extends CommonOptions {
  state?: MessageState;
  entity?: Entity;
  key?: string[];
  class?: ParkClass;
  reasonLike?: string;
}

export interface ListOptions extends FilterOptions {
  groupBy?: Grouping;
  limit: number;
}

export interface ActionOptions extends FilterOptions {
  reason: string;
  yes?: boolean;
  delivered?: boolean;
  notDelivered?: boolean;
  serviceId?: string;
}

export function filterOf(options: FilterOptions): MessageFilter {
  return {
    ...(options.state ? { states: [options.state] } : {}),
    ...(options.entity ? { entity: options.entity } : {}),
    ...(options.key ? { keys: options.key } : {}),
    ...(options.class ? { parkClass: options.class } : {}),
    ...(options.reasonLike === undefined ? {} : { reasonLike: options.reasonLike }),
  };
}
