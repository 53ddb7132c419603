import { expect } from 'chai';
import fc from 'fast-check';
import { type ChainedLine, firstHash, headToken, lineHash, lineText } from '../../src/audit/audit-log.js';
import { type ChainRow, ChainVerifier, type Flaw, type LoggedLine, parseHeads } from '../../src/audit/verify-chains.js';

interface Log {
  rows: ChainRow[];
  lines: LoggedLine[];
}

/** A log as Waybill writes it: `order` says which chain each line belongs to. */
function logOf(order: readonly number[]): Log {
  const rows: ChainRow[] = [];
  const lines: LoggedLine[] = [];
  order.forEach((chain, i) => {
    let row = rows.find((one) => one.chain === chain);
    if (!row) {
      const last = lines.at(-1);
      const link = last ? { chain: last.chain, seq: last.seq, hash: last.hash } : null;
      const first = firstHash(i, link);
      row = { chain, begunAt: i, link, prunedSeq: 0, prunedHash: first, headSeq: 0, headHash: first };
      rows.push(row);
    }
    const line: ChainedLine = {
      ...{ chain, seq: ++row.headSeq, at: 1_000 + i, event: 'attempt', outcome: 'delivered' },
      ...{ entity: 'order', sourceKey: `k${i}`, messageId: i, attemptId: null, actor: 'daemon@office:1' },
      detail: JSON.stringify({ reason: `words ${i} ü "…"` }),
    };
    row.headHash = lineHash(row.headHash, lineText(line));
    lines.push({ ...line, id: 10 * (i + 1), hash: row.headHash });
  });
  return { rows, lines };
}

function verify({ rows, lines }: Log, noted: string[] = []): readonly Flaw[] {
  const verifier = new ChainVerifier(rows, parseHeads(noted.join('\n')) ?? []);
  for (const line of [...lines].sort((a, b) => a.id - b.id)) verifier.take(line);
  return verifier.end((chain) => rows.find((row) => row.chain === chain)?.headSeq ?? 0);
}

/** Every column of a line but its place in the log, with another value for it. */
const changes: { [Column in Exclude<keyof LoggedLine, 'id'>]: (line: LoggedLine) => LoggedLine[Column] } = {
  chain: ({ chain }) => (chain % 3) + 1,
  seq: ({ seq }) => seq + 1,
  at: ({ at }) => at - 1,
  event: () => 'captured',
  outcome: () => null,
  entity: () => 'customer',
  sourceKey: ({ sourceKey }) => `${sourceKey}0`,
  messageId: () => 999,
  attemptId: () => 0,
  actor: () => 'anna@office:2',
  detail: ({ detail }) => detail.replace('words', 'Words'),
  hash: ({ hash }) => hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
};

type Tampering =
  | { kind: 'change'; at: number; column: keyof typeof changes }
  | { kind: 'delete'; at: number }
  | { kind: 'insert' | 'copy'; at: number; to: number }
  | { kind: 'swap'; at: number; to: number };

const place = fc.nat(1_000);
const tampering: fc.Arbitrary<Tampering> = fc.oneof(
  fc.record({
    kind: fc.constant('change' as const),
    at: place,
    column: fc.constantFrom(...(Object.keys(changes) as (keyof typeof changes)[])),
  }),
  fc.record({ kind: fc.constant('delete' as const), at: place }),
  fc.record({ kind: fc.constantFrom('insert' as const, 'copy' as const), at: place, to: place }),
  fc.record({ kind: fc.constant('swap' as const), at: place, to: place }),
);

/** Does it to a copy of the log. @returns it with the lines that it touched; null: nothing was touched */
function tamper(log: Log, tampering: Tampering): { log: Log; touched: LoggedLine[] } | null {
  const lines = log.lines.map((line) => ({ ...line }));
  const at = tampering.at % lines.length;
  const line = lines[at] as LoggedLine;
  const { kind } = tampering;
  if (kind === 'change') {
    Object.assign(line, { [tampering.column]: changes[tampering.column](line) });
    return { log: { ...log, lines }, touched: [log.lines[at] as LoggedLine, line] };
  }
  if (kind === 'delete') {
    lines.splice(at, 1);
    return { log: { ...log, lines }, touched: [line] };
  }
  const to = tampering.to % lines.length;
  const other = lines[to] as LoggedLine;
  if (kind === 'swap') {
    if (line.chain !== other.chain || line === other) return null;
    [line.id, other.id] = [other.id, line.id];
    return { log: { ...log, lines }, touched: [line, other] };
  }
  // A copy elsewhere, or a line of its own that is properly chained to the one before.
  const inserted = { ...line, id: other.id + 5 };
  if (kind === 'insert') {
    const text = { ...inserted, seq: line.seq + 1, event: 'operator' };
    Object.assign(inserted, text, { id: line.id + 5, hash: lineHash(line.hash, lineText(text)) });
  }
  return { log: { ...log, lines: [...lines, inserted] }, touched: [inserted, line] };
}

describe('chains of audit lines', () => {
  const order = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 2, maxLength: 40 });

  it('are whole as they were written', () => {
    fc.assert(
      fc.property(order, (chains) => {
        const log = logOf(chains);
        expect(
          verify(
            log,
            log.rows.map((row) => headToken({ chain: row.chain, seq: row.headSeq, hash: row.headHash })),
          ),
        ).to.deep.equal([]);
      }),
    );
  });

  it('name every line that was changed, taken out, moved or put in', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(order, tampering, (chains, one) => {
        const done = tamper(logOf(chains), one);
        fc.pre(done !== null);
        const [flaw] = verify((done as { log: Log }).log);
        expect(flaw, JSON.stringify(one)).to.not.equal(undefined);
        seen.add(`${one.kind} ${flaw?.kind}`);
        // The first flaw stands at the line, or at its neighbour in the chain, where the hash of a line was changed with it.
        const near = done?.touched.some(
          (line) => line.id === flaw?.id || (line.chain === flaw?.chain && Math.abs(line.seq - flaw.seq) <= 1),
        );
        expect(near, `${JSON.stringify(one)} ${flaw?.message}`).to.equal(true);
      }),
      { numRuns: 3_000 },
    );
    expect([...seen]).to.include.members(['change changed', 'delete missing', 'swap moved', 'copy inserted']);
  });

  it('name a line that was changed together with its own hash by the line behind it, or by the head', () => {
    const log = logOf([1, 1, 1]);
    for (const at of [0, 1, 2]) {
      const lines = log.lines.map((line) => ({ ...line }));
      const line = lines[at] as LoggedLine;
      line.actor = 'nobody';
      line.hash = lineHash(lines[at - 1]?.hash ?? log.rows[0]?.prunedHash ?? '', lineText(line));
      const [flaw] = verify({ ...log, lines });
      expect(flaw?.kind).to.equal('changed');
      expect(flaw?.message).to.contain(`${line.id}`);
    }
  });

  it('name what is missing at the end, and a whole chain that vanished', () => {
    const log = logOf([1, 1, 1, 2, 2, 3]);
    const cut = { ...log, lines: log.lines.slice(0, -1) };
    expect(verify(cut)[0]?.message).to.equal('Number 1 of chain 3, the last, is missing.');
    const gone = {
      rows: log.rows.filter(({ chain }) => chain !== 2),
      lines: log.lines.filter(({ chain }) => chain !== 2),
    };
    expect(verify(gone).map(({ kind, chain }) => [kind, chain])).to.deep.equal([['chain', 2]]);
  });

  it('show a chain that was taken out with its row, behind which none began, by its noted head alone', () => {
    const log = logOf([1, 2, 1, 3]);
    const head = headToken(log.lines[1] as LoggedLine);
    const gone = {
      rows: log.rows.filter(({ chain }) => chain !== 2),
      lines: log.lines.filter(({ chain }) => chain !== 2),
    };
    expect(verify(gone)).to.deep.equal([]);
    expect(verify(gone, [head]).map(({ message }) => message)).to.deep.equal([
      `The head ${head} was noted down, and its chain is not in the log: it was pruned whole, or taken out.`,
    ]);
  });

  it('compare with heads that were noted down, which a log that was made anew can not lead to', () => {
    const log = logOf([1, 1, 1]);
    const noted = headToken(log.lines[1] as LoggedLine);
    expect(verify(log, [noted])).to.deep.equal([]);
    const forged = logOf([2, 1, 1, 1]);
    const [flaw] = verify(forged, [noted]);
    expect(flaw).to.include({ kind: 'noted', chain: 1, seq: 2 });
  });

  it('go on behind a checkpoint, which must fit', () => {
    const log = logOf([1, 1, 1, 1]);
    const [row] = log.rows as [ChainRow];
    const pruned = {
      rows: [{ ...row, prunedSeq: 2, prunedHash: log.lines[1]?.hash ?? '' }],
      lines: log.lines.slice(2),
    };
    expect(
      verify(pruned, [headToken(log.lines[0] as LoggedLine), headToken(log.lines[1] as LoggedLine)]),
    ).to.deep.equal([]);
    expect(verify({ ...pruned, rows: [{ ...row, prunedSeq: 2 }] })[0]?.kind).to.equal('changed');
    expect(verify({ ...pruned, lines: log.lines.slice(3) })[0]?.message).to.equal(
      'Number 3 of chain 1 is missing, before line 40.',
    );
  });
});
