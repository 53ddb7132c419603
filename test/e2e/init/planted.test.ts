import { rmSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { settingsChecker } from '../../../src/cli/setup/init-places.js';
import { Setup, type SetupState } from '../../../src/operator/setup/init/init.js';
import { openSqlite } from '../../support/sqlite-file.js';
import { useTempDir } from '../../support/temp-dir.js';
import { recordsOf } from './init-lab.js';

/** Traps that may be in a schema. Each changes what is true, or only looks like it. */
const traps = ['parties', 'quotations', 'removedOrders', 'removedLines', 'parents', 'factors', 'currencies'] as const;
type Trap = (typeof traps)[number];

interface Planted {
  traps: readonly Trap[];
  /** Names that say nothing, for the columns in question. */
  names: readonly string[];
  orders: readonly {
    customer: number;
    isQuotation: boolean;
    isRemoved: boolean;
    isForeign: boolean;
    lines: readonly { qty: number; cents: number; kind: 'sent' | 'removed' | 'part' | 'hundred' }[];
  }[];
}

const names = ['wert1', 'wert2', 'a', 'b', 'misc', 'info', 'x_id', 'kz', 'flag', 'name2', 'total2', 'price_old'];
const line = fc.record({
  qty: fc.integer({ min: 2, max: 9 }),
  cents: fc.integer({ min: 101, max: 9999 }),
  kind: fc.constantFrom('sent', 'sent', 'removed', 'part', 'hundred'),
});
const planted: fc.Arbitrary<Planted> = fc.record({
  traps: fc.subarray([...traps], { minLength: 1 }),
  names: fc.shuffledSubarray(names, { minLength: 8, maxLength: 8 }),
  orders: fc.array(
    fc.record({
      customer: fc.integer({ min: 1, max: 4 }),
      ...{ isQuotation: fc.boolean(), isRemoved: fc.boolean(), isForeign: fc.boolean() },
      lines: fc.array(line, { minLength: 1, maxLength: 3 }),
    }),
    { minLength: 8, maxLength: 14 },
  ),
});

/** As it is in the database: every trap catches something, and every order has a line that is sent. */
function rowsOf({ traps: there, orders }: Planted) {
  const has = (trap: Trap) => there.includes(trap);
  const isThere = (kind: string) =>
    kind === 'sent' ||
    (kind === 'removed' && has('removedLines')) ||
    (kind === 'part' && has('parents')) ||
    (kind === 'hundred' && has('factors'));
  return orders.map((order, at) => ({
    ...order,
    id: at + 1,
    isQuotation: has('quotations') && (at < 2 || order.isQuotation) && at < 5,
    isRemoved: has('removedOrders') && (at === 2 || order.isRemoved) && at < 5,
    isForeign: has('currencies') && (at === 3 || order.isForeign) && at < 5,
    lines: [
      { qty: 3, cents: 1700 + at, kind: 'sent' as const },
      ...(at < 2
        ? (['removed', 'part', 'hundred'] as const).map((kind) => ({ qty: 2, cents: 777 + at, kind }))
        : order.lines
      ).filter(({ kind }) => isThere(kind)),
    ],
  }));
}

describe('random schemas with traps', function () {
  this.timeout(120_000);
  const dir = useTempDir();
  const checked = settingsChecker({ password: null, token: 'sandbox-token' });

  /** The true answers, and for each trap those of a person who falls into it. */
  const answersTo = (schema: Planted) => {
    const [party = '', quotation, removed, gone, parent, factor, currency = ''] = schema.names;
    const has = (trap: Trap) => schema.traps.includes(trap);
    const lineRows = [
      ...(has('removedLines') ? [`${gone}=0`] : []),
      ...(has('parents') ? [`${parent}=NULL`] : []),
      ...(has('factors') ? [`${factor}=1`] : []),
    ];
    const orderRows = [
      ...(has('quotations') ? [`${quotation}=O`] : []),
      ...(has('removedOrders') ? [`${removed}=NULL`] : []),
    ];
    const one = (given: Record<string, string>) => Object.entries(given).map(([id, answer]) => [id, [answer]] as const);
    const answers = new Map<string, readonly string[]>([
      ...one({
        ...{ 'orders-table': 't_three', 'lines-table': 't_four', 'customers-table': 't_one', 'time-zone': 'UTC' },
        ...{ 'order.number': 'number', 'order.created': 'day', 'order.changedAt': 'none', 'order.status': 'state' },
        ...{ status: 'open', cancelled: 'none', completed: 'none', 'on-deleted': 'nothing', 'start-from': 'all' },
        ...{ 'order.customer': 'who', 'customer.code': 'id', 'customer.name': 'word', 'line.sku': 'sku' },
        ...{ 'line.qty': 'pieces', 'line.price': 'each_', 'order.total': 'summe', installation: 'planted-1' },
        ...{ 'order.currency': currency, currency: 'EUR' },
      }),
      ['orders-with', orderRows.length > 0 ? orderRows : ['none']],
      ['lines-with', lineRows.length > 0 ? lineRows : ['none']],
    ]);
    const wrong: [trap: string, answers: [string, readonly string[]][]][] = [
      ...(has('parties')
        ? [
            [
              'parties',
              [
                ['order.customer', [party]],
                ['customers-table', ['t_two']],
              ],
            ] as (typeof wrong)[number],
          ]
        : []),
      ...lineRows.map((row): (typeof wrong)[number] => [row, [['lines-with', others(lineRows, row)]]]),
      ...orderRows.map((row): (typeof wrong)[number] => [row, [['orders-with', others(orderRows, row)]]]),
      ...(has('currencies') ? [['currencies', [['order.currency', ['none']]]] as (typeof wrong)[number]] : []),
      [
        'quantity',
        [
          ['line.qty', ['each_']],
          ['line.price', ['pieces']],
        ],
      ],
      [
        'no quantity',
        [
          ['line.price', []],
          ['line.amount', ['each_']],
        ],
      ],
    ];
    return { answers, wrong };
  };

  /** Makes the database, and gives the answers and what is true. */
  const plant = (schema: Planted, file: string) => {
    rmSync(file, { force: true });
    const erp = openSqlite(file);
    const [party, quotation, removed, gone, parent, factor, currency, mail] = schema.names as [
      ...[string, string, string, string, string, string, string, string],
    ];
    const has = (trap: Trap) => schema.traps.includes(trap);
    const rows = rowsOf(schema);
    erp.exec(`CREATE TABLE t_one (id INTEGER PRIMARY KEY, word TEXT, ${mail} TEXT);
      CREATE TABLE t_two (id INTEGER PRIMARY KEY, word TEXT, ${mail} TEXT);
      CREATE TABLE t_three (id INTEGER PRIMARY KEY, number TEXT, who INTEGER REFERENCES t_one (id), ${party} INTEGER REFERENCES t_two (id),
        ${mail} TEXT, ${quotation} TEXT, ${removed} DATETIME, ${currency} TEXT, day DATE, summe DECIMAL(12,2), state TEXT);
      CREATE TABLE t_four (id INTEGER PRIMARY KEY, t_three_id INTEGER REFERENCES t_three (id), sku TEXT, pieces INTEGER, each_ DECIMAL(12,2),
        ${gone} INTEGER, ${parent} INTEGER, ${factor} INTEGER)`);
    for (let n = 1; n <= 4; n++) {
      erp.prepare('INSERT INTO t_one VALUES (?, ?, ?)').run(n, `Customer ${n}`, `c${n}@example.org`);
      erp.prepare('INSERT INTO t_two VALUES (?, ?, ?)').run(n, `We ${n}`, `we${n}@example.org`);
    }
    let lineId = 0;
    const truth: Record<string, { customer: string; total: number }> = {};
    for (const { id, customer, isQuotation, isRemoved, isForeign, lines } of rows) {
      const total = lines.filter(({ kind }) => kind === 'sent').reduce((sum, { qty, cents }) => sum + qty * cents, 0);
      erp
        .prepare('INSERT INTO t_three VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
        .run(
          ...[id, `N${id}`, customer, has('parties') ? 1 + (id % 2) : null, `c${customer}@example.org`],
          ...[isQuotation ? 'Q' : 'O', isRemoved ? '2026-02-02' : null, isForeign ? 'chf' : 'eur'],
          ...['2026-01-01', total / 100, 'open'],
        );
      for (const { qty, cents, kind } of lines)
        erp
          .prepare('INSERT INTO t_four VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
          .run(
            ...[++lineId, id, 'A', qty, cents / 100],
            ...[kind === 'removed' ? 1 : 0, kind === 'part' ? lineId - 1 : null, kind === 'hundred' ? 100 : 1],
          );
      if (!isQuotation && !isRemoved && !isForeign) truth[`N${id}`] = { customer: `${customer}`, total };
    }
    erp.close();
    return { truth, ...answersTo(schema) };
  };
  const others = (all: readonly string[], one: string) => {
    const rest = all.filter((row) => row !== one);
    return rest.length > 0 ? rest : ['none'];
  };

  const lookAt = async (file: string, answers: ReadonlyMap<string, readonly string[]>): Promise<SetupState> => {
    const service = { environment: 'sandbox', baseUrl: 'http://127.0.0.1:8080', idempotency: { lifetimeHours: 24 } };
    const setup = await Setup.open({
      places: { erp: { type: 'sqlite', file }, service },
      ...{ settingsOf: checked, suggestedName: 'planted-2', now: () => Date.UTC(2026, 5, 1) },
    });
    try {
      // A discount is asked for only where the totals do not prove the price.
      const asked = await setup.look(answers);
      const isAsked = asked.open.some(({ role }) => role === 'line.discount');
      return isAsked ? await setup.look(new Map([...answers, ['line.discount', ['none']]])) : asked;
    } finally {
      await setup.close();
    }
  };
  /** Figures that may contradict an answer. */
  const contradictions = ({ notes, wrong, open }: SetupState): string[] => [
    ...wrong.map(({ problem }) => problem.code),
    ...open.filter(({ isOptional }) => !isOptional).map(({ flag }) => `asks ${flag}`),
    ...notes.flatMap((note) => {
      if (note.code === 'money') return note.agreeing < note.compared ? ['money'] : [];
      if (note.code === 'not_used') return [`not used ${note.column}`];
      return ['other_parties', 'keys_unresolved'].includes(note.code) ? [note.code] : [];
    }),
  ];

  it('send what is true with true answers, and show a figure against each wrong one', async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(planted, async (schema) => {
        const file = dir.file('planted.sqlite');
        const { answers, wrong, truth } = plant(schema, file);
        const right = await lookAt(file, answers);
        expect(contradictions(right).filter((one) => !one.startsWith('not used'))).to.deep.equal([]);
        const settings = checked(right.proposal?.settings);
        const { records, parked, totals } = await recordsOf(settings);
        const arrived = [...records].map(([key, { note, customer_code: customer }]) => [
          note,
          { customer, total: totals[key] },
        ]);
        expect([Object.fromEntries(arrived), parked.size]).to.deep.equal([truth, 0]);
        for (const [trap, changed] of wrong) {
          const given = new Map(answers);
          for (const [id, answer] of changed) answer.length === 0 ? given.delete(id) : given.set(id, answer);
          const state = await lookAt(file, given);
          const against = contradictions(state).filter((one) => !contradictions(right).includes(one));
          expect(against, trap).not.to.deep.equal([]);
          seen.add(trap.replace(/^\w+=/, '='));
        }
      }),
      { numRuns: 40 },
    );
    expect([...seen]).to.include('no quantity');
  });
});
