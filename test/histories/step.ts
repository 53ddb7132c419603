import fc from 'fast-check';
import { type Fate, fates } from './model-service.js';
import { type Point, points } from './worker.js';

/** The constants of a history. */
export interface Setup {
  seed: number;
  replaysRefusals: boolean;
  updatesBy: 'PATCH' | 'PUT';
  onCancelled: 'nothing' | 'delete';
  onDeleted: 'nothing' | 'delete';
  /** `none`: the service can't be asked. `proves`: what it does not find does not exist. */
  lookUp: 'none' | 'asks' | 'proves';
  /** Needs a go-live before anything is sent. */
  isProduction: boolean;
}

/** One thing that happens in a history. Rows are named by their place; a step that finds nothing to act on does nothing. */
export type Step =
  | { do: 'insert'; customer: number; qty: number; isBad: boolean; isHalf: boolean; lateMinutes: number }
  | { do: 'edit'; order: number; qty: number; isSeen: boolean }
  | { do: 'rename'; customer: number; name: string }
  | { do: 'spoil' | 'mend' | 'cancel' | 'confirm-order' | 'delete'; order: number }
  | { do: 'capture'; sweep: boolean; strike: DrawnStrike | null }
  | { do: 'deliver'; isPatient: boolean; strike: DrawnStrike | null }
  | { do: 'fates'; fates: Fate[] }
  | { do: 'advance'; seconds: number }
  | { do: 'wake' }
  | { do: 'operate'; action: 'retry' | 'discard' | 'resolve' }
  | { do: 'resume' }
  | { do: 'resync' }
  | { do: 'confirm' }
  | { do: 'prune' }
  | { do: 'go-live' }
  | { do: 'pull'; strike: DrawnStrike | null }
  /** Nothing is due any more when the amount is 0. */
  | { do: 'invoice'; number: number; amount: number };

export interface DrawnStrike {
  point: Point;
  nth: number;
  what: 'crash' | 'freeze' | Step;
}

const order = fc.nat({ max: 3 });
const customer = fc.nat({ max: 1 });
/** 99 is more than the service takes. */
const qty = fc.constantFrom(1, 2, 3, 99);
const rarely = fc.nat({ max: 9 }).map((n) => n === 9);

const insert = fc.record({
  do: fc.constant('insert' as const),
  customer,
  qty,
  isBad: rarely,
  isHalf: rarely,
  lateMinutes: fc.constantFrom(0, 0, 0, 5, 45),
});
const edit = fc.record({
  do: fc.constant('edit' as const),
  order,
  qty,
  isSeen: fc.nat({ max: 4 }).map((n) => n < 4),
});
const rename = fc.record({ do: fc.constant('rename' as const), customer, name: fc.constantFrom('Ada', 'Bo', 'Cy') });
const touch = fc.record({
  do: fc.constantFrom(
    'spoil' as const,
    'mend' as const,
    'cancel' as const,
    'confirm-order' as const,
    'delete' as const,
  ),
  order,
});
const operate = fc.record({
  do: fc.constant('operate' as const),
  action: fc.constantFrom('retry' as const, 'discard' as const, 'resolve' as const),
});
const quietCapture = fc.record({
  do: fc.constant('capture' as const),
  sweep: fc.boolean(),
  strike: fc.constant(null),
});
const quietDeliver = fc.record({
  do: fc.constant('deliver' as const),
  isPatient: fc.constant(false),
  strike: fc.constant(null),
});

/** Whoever stands still inside a transaction holds everybody up, and right before the wire Node's own http asks once more: there nobody can freeze. */
const freezing = points.filter((point) => point !== 'before-commit' && point !== 'before-send');
const between = points.filter((point) => point !== 'before-commit');
const nth = fc.integer({ min: 1, max: 10 });

const strikeOf = (meanwhile: fc.Arbitrary<Step>): fc.Arbitrary<DrawnStrike | null> =>
  fc.option(
    fc.oneof(
      fc.record({ point: fc.constantFrom(...points), nth, what: fc.constant('crash' as const) }),
      fc.record({ point: fc.constantFrom(...freezing), nth, what: fc.constant('freeze' as const) }),
      fc.record({ point: fc.constantFrom(...between), nth, what: meanwhile }),
    ),
    { freq: 2 },
  );

const capture = fc.record({
  do: fc.constant('capture' as const),
  sweep: fc.boolean(),
  strike: strikeOf(fc.oneof(edit, touch, quietDeliver, operate)),
});
const deliver = fc.record({
  do: fc.constant('deliver' as const),
  isPatient: fc.boolean(),
  strike: strikeOf(fc.oneof(edit, quietCapture, operate)),
});
const invoice = fc.record({
  do: fc.constant('invoice' as const),
  number: fc.nat({ max: 5 }),
  amount: fc.nat({ max: 2 }),
});
const pull = fc.record({ do: fc.constant('pull' as const), strike: strikeOf(fc.oneof(invoice, operate)) });
const bad = fc.record({
  do: fc.constant('fates' as const),
  fates: fc.array(fc.constantFrom<Fate>(...fates, 'ok', 'ok', 'ok', 'ok'), { minLength: 1, maxLength: 5 }),
});
const advance = fc.record({
  do: fc.constant('advance' as const),
  seconds: fc.constantFrom(1, 5, 26, 26, 120, 700, 3_700, 25 * 3_600, 40 * 3_600),
});
const single = fc.constantFrom<Step>(
  { do: 'wake' },
  { do: 'resume' },
  { do: 'resync' },
  { do: 'confirm' },
  { do: 'prune' },
  { do: 'go-live' },
);

export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: insert },
  { weight: 5, arbitrary: edit },
  { weight: 1, arbitrary: rename },
  { weight: 3, arbitrary: touch },
  { weight: 6, arbitrary: capture },
  { weight: 9, arbitrary: deliver },
  { weight: 6, arbitrary: bad },
  { weight: 4, arbitrary: advance },
  { weight: 2, arbitrary: operate },
  { weight: 3, arbitrary: single },
  { weight: 3, arbitrary: invoice },
  { weight: 2, arbitrary: pull },
);

export const setup: fc.Arbitrary<Setup> = fc.record({
  seed: fc.nat(),
  replaysRefusals: fc.boolean(),
  updatesBy: fc.constantFrom('PATCH' as const, 'PUT' as const),
  onCancelled: fc.constantFrom('nothing' as const, 'delete' as const),
  onDeleted: fc.constantFrom('nothing' as const, 'delete' as const),
  lookUp: fc.constantFrom('none' as const, 'asks' as const, 'proves' as const),
  isProduction: fc.nat({ max: 3 }).map((n) => n === 3),
});
