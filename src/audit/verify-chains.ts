import { type ChainedLine, firstHash, type Head, headToken, lineHash, lineText } from './audit-log.js';

/** The facts about a chain beside its lines. */
export interface ChainRow {
  chain: number;
  begunAt: number;
  /** The line behind which it began; null: the log was empty. */
  link: Head | null;
  /** The checkpoint: the last line that was pruned, or 0 and the hash before the first line. */
  prunedSeq: number;
  prunedHash: string;
  headSeq: number;
  headHash: string;
}

/** A line as it stands in the log. */
export type LoggedLine = ChainedLine & { id: number; hash: string };

/** Something that is not as Waybill wrote it. */
export interface Flaw {
  kind: 'changed' | 'missing' | 'moved' | 'inserted' | 'chain' | 'noted';
  chain: number;
  /** The number in the chain at which it shows. */
  seq: number;
  /** The line of the log at which it shows; null: there is none. */
  id: number | null;
  message: string;
}

interface State {
  row: ChainRow;
  seq: number;
  hash: string;
  lastId: number | null;
  /** Numbers that were passed over, each with the flaw that says so. */
  gaps: { from: number; to: number; flaw: Flaw }[];
}

const noteLimit = 1_000;

/** Follows every chain of a log whose lines are handed to it by growing id. Pure but for its own state. */
export class ChainVerifier {
  /** In the order of the log; no more than a thousand. */
  readonly flaws: Flaw[] = [];
  lines = 0;
  /** Noted heads of lines that were pruned: nothing is left that they could be compared with. */
  readonly uncompared: Head[] = [];
  /** The last line of each chain behind the head that was read first. */
  readonly #newer = new Map<number, LoggedLine>();
  /** Lines of chains that were not there when the chains were read, no more than a thousand. */
  readonly #ofOthers: LoggedLine[] = [];
  readonly #states: Map<number, State>;
  /** Lines that must be there as another place knows them: a link, or a head that was noted down. */
  readonly #expected = new Map<string, { hash: string; flaw: Flaw }>();

  /** @param noted heads that were written down elsewhere */
  constructor(rows: readonly ChainRow[], noted: readonly Head[] = []) {
    this.#states = new Map(
      rows.map((row) => [row.chain, { row, seq: row.prunedSeq, hash: row.prunedHash, lastId: null, gaps: [] }]),
    );
    for (const row of rows) this.#checkBeginning(row);
    for (const head of noted)
      this.#expect(head, {
        kind: 'noted',
        message: this.#states.has(head.chain)
          ? `The head ${headToken(head)} was noted down, and the log does not lead there.`
          : `The head ${headToken(head)} was noted down, and its chain is not in the log: it was pruned whole, or taken out.`,
      });
  }

  take(line: LoggedLine): void {
    this.lines++;
    const state = this.#states.get(line.chain);
    // A chain may have begun since; by the end it shows whether it did.
    if (!state) {
      if (this.#ofOthers.length < noteLimit) this.#ofOthers.push(line);
      return;
    }
    const { row } = state;
    // Lines after the head that was read first are new, if the head has moved as far by the end.
    if (line.seq > row.headSeq) {
      if (line.seq > (this.#newer.get(line.chain)?.seq ?? 0)) this.#newer.set(line.chain, line);
      return;
    }
    this.#meet(line);
    if (line.seq <= state.seq) {
      this.#outOfPlace(state, line);
      return;
    }
    if (line.seq > state.seq + 1) this.#gap(state, line);
    else if (lineHash(state.hash, lineText(line)) !== line.hash)
      this.#tell(
        'changed',
        line,
        state.lastId === null
          ? `Line ${line.id} was changed, or what is known of the lines before it.`
          : `Line ${line.id} was changed, or line ${state.lastId} before it together with its hash.`,
      );
    state.seq = line.seq;
    state.hash = line.hash;
    state.lastId = line.id;
  }

  /** All lines were handed over. @param headNow the number of a chain's last line by now */
  end(headNow: (chain: number) => number): readonly Flaw[] {
    for (const line of this.#ofOthers)
      if (line.seq > headNow(line.chain))
        this.#tell('inserted', line, `Line ${line.id} belongs to chain ${line.chain}, which is not there.`);
    for (const line of this.#newer.values())
      if (line.seq > headNow(line.chain))
        this.#tell(
          'inserted',
          line,
          `Line ${line.id}, number ${line.seq} of chain ${line.chain}, stands behind its head, and was inserted.`,
        );
    for (const { row, seq, hash, lastId } of this.#states.values()) {
      const at = { chain: row.chain, seq: seq + 1, id: lastId };
      if (seq < row.headSeq)
        this.#tell(
          'missing',
          at,
          `${lines(seq + 1, row.headSeq)} of chain ${row.chain}, the last, ${isAre(seq + 1, row.headSeq)} missing${behind(lastId)}.`,
        );
      else if (hash !== row.headHash)
        this.#tell(
          'changed',
          { ...at, seq },
          `The head of chain ${row.chain} is not its last line${lastId === null ? '' : `, ${lastId}`}: one of the two was changed.`,
        );
    }
    for (const { flaw } of this.#expected.values()) this.#add(flaw);
    return this.flaws;
  }

  #checkBeginning(row: ChainRow): void {
    // Behind a checkpoint nothing is left that could be compared.
    if (row.prunedSeq > 0) return;
    if (row.prunedHash !== firstHash(row.begunAt, row.link))
      this.#tell('chain', { chain: row.chain, seq: 0, id: null }, `The beginning of chain ${row.chain} was changed.`);
    if (row.link)
      this.#expect(row.link, {
        kind: 'chain',
        message: `Chain ${row.chain} began behind ${headToken(row.link)}, and no such line is in the log.`,
      });
  }

  #expect(head: Head, { kind, message }: Pick<Flaw, 'kind' | 'message'>): void {
    const row = this.#states.get(head.chain)?.row;
    const flaw: Flaw = { kind, chain: head.chain, seq: head.seq, id: null, message };
    if (row && head.seq < row.prunedSeq) {
      if (kind === 'noted') this.uncompared.push(head);
      return;
    }
    if (row && head.seq === row.prunedSeq) {
      if (head.hash !== row.prunedHash) this.#add(flaw);
      return;
    }
    this.#expected.set(`${headToken(head)} ${kind}`, { hash: head.hash, flaw });
  }

  #meet(line: LoggedLine): void {
    if (this.#expected.size === 0) return;
    for (const kind of ['chain', 'noted']) this.#expected.delete(`${headToken(line)} ${kind}`);
  }

  #gap(state: State, line: LoggedLine): void {
    const [from, to] = [state.seq + 1, line.seq - 1];
    const at = { chain: line.chain, seq: from, id: line.id };
    const flaw = this.#tell(
      'missing',
      at,
      `${lines(from, to)} of chain ${line.chain} ${isAre(from, to)} missing${behind(state.lastId)}, before line ${line.id}.`,
    );
    state.gaps.push({ from, to, flaw });
  }

  /** A number that comes after a greater one. */
  #outOfPlace(state: State, line: LoggedLine): void {
    const gap = state.gaps.find(({ from, to }) => line.seq >= from && line.seq <= to);
    const order = `number ${line.seq} of chain ${line.chain}, stands behind number ${state.seq}`;
    if (!gap) this.#tell('inserted', line, `Line ${line.id}, ${order}, and was inserted.`);
    else if (gap.flaw.kind === 'missing')
      Object.assign(gap.flaw, {
        kind: 'moved',
        message: `Line ${gap.flaw.id} or line ${line.id} was moved: the latter, ${order}.`,
      });
  }

  #tell(kind: Flaw['kind'], at: Pick<Flaw, 'chain' | 'seq' | 'id'>, message: string): Flaw {
    const flaw = { kind, chain: at.chain, seq: at.seq, id: at.id, message };
    this.#add(flaw);
    return flaw;
  }

  #add(flaw: Flaw): void {
    if (this.flaws.length < noteLimit) this.flaws.push(flaw);
  }
}

function lines(from: number, to: number): string {
  return from === to ? `Number ${from}` : `Numbers ${from} to ${to}`;
}

function isAre(from: number, to: number): string {
  return from === to ? 'is' : 'are';
}

function behind(id: number | null): string {
  return id === null ? '' : ` behind line ${id}`;
}

/** Heads as they were noted down, one a line. Pure; null when a line is none. */
export function parseHeads(text: string): Head[] | null {
  const words = text.split(/\s+/).filter(Boolean);
  const heads = words.map((word) => /^(\d{1,15}):(\d{1,15}):([0-9a-f]{64})$/.exec(word));
  if (heads.includes(null)) return null;
  return heads.map((match) => ({ chain: Number(match?.[1]), seq: Number(match?.[2]), hash: match?.[3] ?? '' }));
}
