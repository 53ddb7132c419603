import { expect } from 'chai';
import fc from 'fast-check';
import { announcedInvoice, applyOwnRead } from '../../../src/inbound/invoices/apply-own-read.js';
import { afterPage, beginPasses } from '../../../src/inbound/invoices/list-proof.js';
import { missedInvoices, type OwnRead } from '../../../src/inbound/invoices/own-read.js';
import {
  clearStaging,
  endGroup,
  forgetDueReads,
  stageOwnRead,
  stagePage,
} from '../../../src/inbound/invoices/staging.js';
import { swapInvoices } from '../../../src/inbound/invoices/swap-invoices.js';
import type { Invoice } from '../../../src/model/record.js';
import type { Tx } from '../../../src/store/store.js';
import { type HistoryStore, openHistoryStore } from '../../histories/history-store.js';
import { isFullMatrix } from '../../store/stores.js';
import { type Change, ChangingList, changes } from './changing-list.js';

/** `WAYBILL_STAGED_HISTORIES=20000` tells as many. */
const numRuns = Number(process.env.WAYBILL_STAGED_HISTORIES ?? (isFullMatrix ? 2_000 : 600));

interface History {
  count: number;
  size: number;
  maxPasses: number;
  changes: Change[][];
  forEver: boolean;
  /** Numbers that events name, before each request. */
  events: number[][];
  canBeRead: boolean;
}

const history = fc.record<History>({
  count: fc.nat({ max: 6 }),
  size: fc.integer({ min: 1, max: 4 }),
  maxPasses: fc.integer({ min: 2, max: 4 }),
  changes,
  forEver: fc.boolean(),
  events: fc.array(fc.array(fc.nat({ max: 9 }), { maxLength: 2 }), { maxLength: 12 }),
  canBeRead: fc.boolean(),
});

/** The list that changes, pulled into a real store, with events that are read about between any two requests. */
class Puller {
  readonly list: ChangingList;
  /** The events during this pull: the reading in which each came, and true if money was due. */
  reads = new Map<string, { pass: number; isDue: boolean }>();
  readonly left = new Set<string>();
  readonly #born = new Set<string>();
  #at = 0;
  #pass = 1;

  constructor(
    readonly told: History,
    readonly store: HistoryStore,
  ) {
    this.list = new ChangingList(told.count, ['unpaid']);
  }

  listed(): Set<string> {
    return new Set(
      this.store
        .rows<{ invoice_no: string }>('SELECT invoice_no FROM invoice WHERE unlisted_at IS NULL')
        .map((row) => row.invoice_no),
    );
  }

  async pull(): Promise<{ isProven: boolean; pass: number }> {
    const { told, list } = this;
    const unpaid = { customer: null, state: 'unpaid' };
    await this.#inStore(clearStaging);
    this.reads = new Map();
    this.#pass = 1;
    let state = beginPasses(1, told.size);
    for (let requests = 0; ; requests++) {
      await this.#between(requests === 0);
      const { numbers, total } = list.page('unpaid', state.page * told.size, told.size);
      const page = numbers.map((number) => ({ key: `=${number}`, invoice: invoiceOf(number) }));
      const before = state.pass;
      // The page is on its way while other things are read.
      await this.#between(false);
      const verdict = await this.#inStore(async (tx) => {
        const counts = await stagePage(tx, unpaid, state.pass, page);
        const after = afterPage(state, { rows: page.length, ...counts, total, isAnotherPage: false }, told.maxPasses);
        state = after.state;
        if (state.pass > before) await forgetDueReads(tx, null);
        if (after.verdict.kind !== 'more')
          await endGroup(tx, null, after.verdict.kind === 'proven' ? state.pass : null);
        return after.verdict.kind;
      });
      this.#pass = state.pass;
      if (verdict === 'more') continue;
      if (told.canBeRead) await this.#askForMissed();
      await this.#between(false);
      await this.#inStore((tx) => swapInvoices(tx, 1));
      return { isProven: verdict === 'proven', pass: state.pass };
    }
  }

  async #askForMissed(): Promise<void> {
    for (const { invoiceNo } of await this.#inStore((tx) => missedInvoices(tx, 50))) {
      await this.#between(false);
      const isDue = this.list.is(invoiceNo);
      this.reads.set(invoiceNo, { pass: this.#pass, isDue });
      await this.#inStore((tx) => stageOwnRead(tx, invoiceNo, isDue ? invoiceOf(invoiceNo) : null, 'paid'));
    }
  }

  /** The changes before the next request. */
  async #between(isFirst: boolean): Promise<void> {
    const { changes: all, forEver, events } = this.told;
    const at = this.#at++;
    const now = all.length === 0 ? [] : (all[forEver ? at % all.length : at] ?? []);
    for (const change of now) this.list.change(change);
    for (const number of this.list.due) this.#born.add(number);
    if (isFirst) this.list.begin();
    for (const which of events[at] ?? []) await this.#announced(`I${which}`);
  }

  async #announced(number: string): Promise<void> {
    const isDue = this.list.is(number);
    const said: OwnRead = isDue ? { due: invoiceOf(number) } : { left: this.#born.has(number) ? 'paid' : null };
    if (isDue || this.#born.has(number)) this.reads.set(number, { pass: this.#pass, isDue });
    if (!isDue && this.#born.has(number)) this.left.add(number);
    await this.#inStore(async (tx) => applyOwnRead(tx, await announcedInvoice(tx, number), said, 1, 1));
  }

  #inStore<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.store.store.transaction('pull', work);
  }
}

const invoiceOf = (number: string): Invoice => ({
  invoice_no: number,
  customer_code: 'K1',
  amount: 1,
  due_date: '2026-12-01',
  status: 'unpaid',
});

describe('the store of a list that changes, with events between any two requests', function () {
  this.timeout(60_000 + numRuns * 100);
  let store: HistoryStore;
  before(async () => {
    store = await openHistoryStore();
  });
  after(() => store.store.close());

  it('holds after a proven pull the list of one moment, but for what was read since then, and never what an event found paid', async () => {
    const tally = { proven: 0, unproven: 0 };
    await fc.assert(
      fc.asyncProperty(history, async (told) => {
        store.begin(() => 1);
        const puller = new Puller(told, store);
        for (let nth = 0; nth < 3; nth++) {
          const before = puller.listed();
          const { isProven, pass } = await puller.pull();
          tally[isProven ? 'proven' : 'unproven']++;
          const listed = puller.listed();
          for (const number of puller.left)
            if (listed.has(number)) throw new Error(`${number} was paid, and is listed`);
          const since = [...puller.reads].filter(([, read]) => read.isDue && read.pass === pass);
          for (const number of [...before, ...since.map(([one]) => one)])
            if (!listed.has(number) && puller.list.is(number)) throw new Error(`${number} is due and was taken off`);
          const readSince = (number: string, isDue: boolean) => {
            const read = puller.reads.get(number);
            return read !== undefined && read.isDue === isDue && (read.pass === pass || !isDue);
          };
          const fits = (due: Set<string>) =>
            [...listed].every((number) => due.has(number) || readSince(number, true)) &&
            [...due].every((number) => listed.has(number) || readSince(number, false));
          if (isProven && !puller.list.moments.some(fits)) throw new Error(`${[...listed]} fits no moment`);
        }
      }),
      { numRuns },
    );
    expect(Math.min(tally.proven, tally.unproven), JSON.stringify(tally)).to.be.above(numRuns / 10);
  });
});
