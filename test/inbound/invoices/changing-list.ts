import fc from 'fast-check';

/** Something that happens at the service between two requests. Numbers are taken modulo what is there. */
export type Change =
  | { do: 'pay'; which: number }
  | { do: 'add'; at: number }
  | { do: 'move'; from: number; to: number }
  | { do: 'shuffle'; seed: number }
  | { do: 'remind'; which: number };

const nat = fc.nat({ max: 40 });
const pay = fc.record({ do: fc.constant('pay' as const), which: nat });
const add = fc.record({ do: fc.constant('add' as const), at: nat });
const move = fc.record({ do: fc.constant('move' as const), from: nat, to: nat });
const shuffle = fc.record({ do: fc.constant('shuffle' as const), seed: nat });
const remind = fc.record({ do: fc.constant('remind' as const), which: nat });

/** The changes before each request: mostly nothing, or a few. */
export const changes = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constant<Change[]>([]) },
    {
      weight: 4,
      arbitrary: fc.array<Change>(fc.oneof(pay, add, move, shuffle, remind), { minLength: 1, maxLength: 3 }),
    },
  ),
  { maxLength: 14 },
);

/** A list that is added to before every request would grow with the number of requests, which grows with the list. */
const mostRows = 40;

/**
 * The service's list: invoices are added, paid for good, go on from one state to the next, and stand in any order. Keeps
 * what was due at every moment.
 */
export class ChangingList {
  readonly #states: readonly string[];
  #rows: { number: string; state: number }[];
  #born: number;
  /** The invoices that were due, at one moment after the other. */
  readonly moments: Set<string>[] = [];

  constructor(count: number, states: readonly string[]) {
    this.#states = states;
    this.#rows = Array.from({ length: count }, (_, i) => ({ number: `I${i}`, state: i % states.length }));
    this.#born = count;
    this.#note();
  }

  get due(): Set<string> {
    return new Set(this.#rows.map(({ number }) => number));
  }

  is(number: string): boolean {
    return this.#rows.some((row) => row.number === number);
  }

  /** Forgets the moments that are over. */
  begin(): void {
    this.moments.splice(0, this.moments.length - 1);
  }

  change(change: Change): void {
    const count = this.#rows.length;
    if (change.do === 'add' && count < mostRows)
      this.#rows.splice(change.at % (count + 1), 0, {
        number: `I${this.#born++}`,
        state: change.at % this.#states.length,
      });
    else if (count > 0 && change.do === 'pay') this.#rows.splice(change.which % count, 1);
    else if (count > 0 && change.do === 'move') {
      const [row] = this.#rows.splice(change.from % count, 1);
      if (row) this.#rows.splice(change.to % count, 0, row);
    } else if (change.do === 'shuffle')
      this.#rows.sort((a, b) => rank(a.number, change.seed) - rank(b.number, change.seed));
    else if (count > 0 && change.do === 'remind') {
      const row = this.#rows[change.which % count] as { state: number };
      row.state = Math.min(row.state + 1, this.#states.length - 1);
    }
    this.#note();
  }

  page(state: string, offset: number, size: number): { numbers: string[]; total: number } {
    const listed = this.#rows.filter((row) => this.#states[row.state] === state).map(({ number }) => number);
    return { numbers: listed.slice(offset, offset + size), total: listed.length };
  }

  #note(): void {
    this.moments.push(this.due);
  }
}

function rank(number: string, seed: number): number {
  let hash = seed + 1;
  for (const char of number) hash = Math.imul(hash ^ char.charCodeAt(0), 0x9e3779b1) >>> 0;
  return hash;
}

export function isSame(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((number) => b.has(number));
}
