import type { Settings } from '../config/settings.js';
import type { Entity } from '../model/entity.js';

/** Whether an update writes over the whole record at the service, and not only over what it names. */
export function replacesRecord({ service }: Settings, entity: Entity): boolean {
  return service.endpoints[entity === 'order' ? 'updateOrder' : 'updateCustomer'].method === 'PUT';
}
