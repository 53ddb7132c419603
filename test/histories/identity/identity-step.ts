import fc from 'fast-check';
import type { Entity } from '../../../src/model/record.js';
import type { TwinOrder } from './twin-erp.js';
import type { Fate } from './twin-service.js';

export type Step =
  | { do: 'insert'; order: Omit<TwinOrder, 'key'> }
  | { do: 'edit'; order: number; change: Partial<TwinOrder> }
  /** An order is cancelled, and entered anew under another key, which names the one before. */
  | { do: 'amend'; order: number }
  /** An order is cancelled in the ERP, which removes it at the service, or wanted again. */
  | { do: 'cancel'; order: number }
  | { do: 'recode'; customer: number; code: string }
  /** Somebody else enters a record at the service. */
  | { do: 'foreign'; entity: Entity; name: string }
  | { do: 'capture'; force: boolean }
  | { do: 'deliver'; fates: Record<Entity, Fate[]> }
  /** Time passes until the service remembers no key. */
  | { do: 'forget-keys' }
  /** The settings put the key in quotes, or not any more. */
  | { do: 'present' }
  | { do: 'say'; nth: number; says: 'truth' | 'id' | 'retry' | 'discard'; id: number }
  | { do: 'confirm' }
  | { do: 'adopt'; entity: Entity; lines: { row: number; id: number }[] }
  | { do: 'forget'; customer: string }
  /** Each row gets the key of another one, and a person says `rekey`. */
  | { do: 'move' }
  /** A copy of the store is made. */
  | { do: 'copy' }
  /** The store goes back to its copy, as in a failover to a replica that is behind. */
  | { do: 'fail-over'; way: Way }
  | { do: 'lose'; isExported: boolean; mixed: Entity | null; way: Way; isWitnessed: boolean };

/** How a person has Waybill find out what a lost store has sent. `from-service` where nothing else forbids it. */
export type Way = 'park' | 'look-up' | 'from-service';

const way = fc.constantFrom<Way>('park', 'look-up', 'from-service');
const entity = fc.constantFrom<Entity>('customer', 'order');
const number = fc.constantFrom('N1', 'N1', 'N1', 'N2');
const small = fc.nat({ max: 4 });
const qty = fc.constantFrom(1, 1, 1, 2);
const code = fc.constantFrom('K1', 'K2');

const insert = fc.record({
  do: fc.constant('insert' as const),
  order: fc.record({
    number,
    customerKey: fc.constantFrom('1', '2', '3'),
    createdOn: fc.constantFrom('2026-01-01', '2026-01-02'),
    qty,
  }),
});
const edit = fc.record({
  do: fc.constant('edit' as const),
  order: small,
  change: fc.oneof({ weight: 3, arbitrary: fc.record({ qty }) }, { weight: 1, arbitrary: fc.record({ number }) }),
});
const recode = fc.record({ do: fc.constant('recode' as const), customer: fc.nat({ max: 2 }), code });
const foreign = fc.oneof(
  fc.record({ do: fc.constant('foreign' as const), entity: fc.constant('order' as const), name: number }),
  fc.record({ do: fc.constant('foreign' as const), entity: fc.constant('customer' as const), name: code }),
);
const capture = fc.record({ do: fc.constant('capture' as const), force: fc.nat({ max: 4 }).map((n) => n === 4) });
const fate = fc.constantFrom<Fate>('ok', 'ok', 'lost-before', 'lost-after', 'same-id', 'exists');
const fates = fc.array(fate, { maxLength: 4 });
const deliver = fc.record({ do: fc.constant('deliver' as const), fates: fc.record({ customer: fates, order: fates }) });
const forgetKeys = fc.constant<Step>({ do: 'forget-keys' });
const say = fc.record({
  do: fc.constant('say' as const),
  nth: small,
  says: fc.constantFrom(
    'truth' as const,
    'truth' as const,
    'id' as const,
    'id' as const,
    'retry' as const,
    'discard' as const,
  ),
  id: small,
});
const adopt = fc.record({
  do: fc.constant('adopt' as const),
  entity,
  lines: fc.array(fc.record({ row: small, id: small }), { minLength: 1, maxLength: 2 }),
});
const forget = fc.record({ do: fc.constant('forget' as const), customer: fc.constantFrom('1', '2') });
const lose = fc.record({
  do: fc.constant('lose' as const),
  isExported: fc.boolean(),
  mixed: fc.constantFrom<Entity | null>(null, 'customer', 'order'),
  way,
  isWitnessed: fc.boolean(),
});

export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: insert },
  { weight: 2, arbitrary: edit },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('amend' as const), order: small }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('cancel' as const), order: small }) },
  { weight: 1, arbitrary: recode },
  { weight: 1, arbitrary: foreign },
  { weight: 6, arbitrary: capture },
  { weight: 8, arbitrary: deliver },
  { weight: 3, arbitrary: forgetKeys },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'present' }) },
  { weight: 5, arbitrary: say },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'confirm' }) },
  { weight: 2, arbitrary: adopt },
  { weight: 1, arbitrary: forget },
  { weight: 1, arbitrary: lose },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'move' }) },
);

const sweep: Step = { do: 'capture', force: false };

/** An order is removed at the service, and wanted again: what becomes of its new create may stay unknown. */
const removal = fc
  .record({ order: small, taken: deliver, wanted: deliver, later: fc.array(fc.oneof(forgetKeys, deliver)) })
  .map(({ order, taken, wanted, later }): Step[] => {
    const cancel: Step = { do: 'cancel', order };
    return [cancel, sweep, taken, cancel, sweep, wanted, ...later];
  });

/** The store goes back behind some steps. */
const failOver = fc
  .record({ steps: fc.array(step, { minLength: 1, maxLength: 5 }), way })
  .map(({ steps, way }): Step[] => [{ do: 'copy' }, ...steps, { do: 'fail-over', way }]);

const some: fc.Arbitrary<Step[]> = fc.oneof(
  { weight: 12, arbitrary: step.map((one) => [one]) },
  { weight: 2, arbitrary: removal },
  { weight: 2, arbitrary: failOver },
);

/** Some orders are on their way before anything else happens, often past the lifetime of their keys: much begins there. */
const anything: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.array(insert, { minLength: 2, maxLength: 4 }),
    deliver,
    fc.option(fc.constantFrom<Step>({ do: 'forget-keys' }, { do: 'present' })),
    fc.array(some, { maxLength: 9, size: 'max' }),
  )
  .map(([inserts, first, later, steps]) => [...inserts, sweep, first, ...(later ? [later] : []), ...steps.flat()]);

/** Orders do not arrive, as a person finds, and go out again under a later key; then the store is lost. */
const laterKey: fc.Arbitrary<Step[]> = fc
  .tuple(fc.array(insert, { minLength: 1, maxLength: 3 }), lose, fc.array(some, { maxLength: 3 }))
  .map(([inserts, lost, steps]): Step[] => {
    const truth = inserts.map((): Step => ({ do: 'say', nth: 0, says: 'truth', id: 0 }));
    const sent: Step = { do: 'deliver', fates: { customer: [], order: [] } };
    const dropped: Step = { do: 'deliver', fates: { customer: [], order: inserts.map(() => 'lost-before' as const) } };
    return [...inserts, sweep, dropped, ...truth, sent, { ...lost, isExported: false }, sweep, sent, ...steps.flat()];
  });

export const history: fc.Arbitrary<Step[]> = fc.oneof(
  { weight: 5, arbitrary: anything },
  { weight: 1, arbitrary: laterKey },
);
