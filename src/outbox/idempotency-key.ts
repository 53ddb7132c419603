import { v5 as uuidv5 } from 'uuid';
import type { Entity } from '../model/entity.js';

/** Made once for Waybill and never changed: every key of every installation hangs on it. */
const namespace = '6f2d3c1e-8a54-5b0f-9d7c-2e41b7a90c35';

/**
 * The key of a create. It is a function of the record, never of the run, so that it survives the loss of the store.
 * The parts are joined as JSON, because a source key may hold any separator.
 */
export function createKey(installation: string, entity: Entity, sourceKey: string, generation: number): string {
  return uuidv5(JSON.stringify([entity, sourceKey, 'create', generation]), uuidv5(installation, namespace));
}

/** The key after one that the service refuses for ever, for an update or a delete that a person tries again. */
export function keyAfterRefusal(refused: string): string {
  return uuidv5('again', refused);
}

/** The key of an update or a delete. They set absolute values, so it only has to differ between stores and revisions. */
export function revisionKey(
  incarnation: string,
  entity: Entity,
  sourceKey: string,
  operation: string,
  revision: number,
): string {
  return uuidv5(JSON.stringify([entity, sourceKey, operation, revision]), uuidv5(incarnation, namespace));
}
