import { expect } from 'chai';
import { insertRows, placeholders, updateRows, upsertRows } from '../../src/store/rows.js';
import type { SqlValue } from '../../src/store/store.js';
import { onEveryStore } from './stores.js';

onEveryStore('writing many rows', (kit) => {
  const write = <T>(work: Parameters<typeof kit.store.transaction<T>>[1]) => kit.store.transaction('write', work);
  const pause = (lane: string, more: Record<string, SqlValue> = {}) => ({
    lane,
    cause: 'operator',
    until_at: null as SqlValue,
    reason_data: `reason of ${lane}`,
    actor: 'test',
    since_at: 1,
    ...more,
  });
  const all = () => kit.rows('SELECT lane, until_at, reason_data FROM lane_pause ORDER BY lane');

  it('inserts none, one, and more than fit into one statement', async () => {
    await write((tx) => insertRows(tx, 'lane_pause', []));
    await write((tx) => insertRows(tx, 'lane_pause', [pause('one')]));
    await write((tx) =>
      insertRows(
        tx,
        'lane_pause',
        Array.from({ length: 3_501 }, (_, i) => pause(`lane ${i}`)),
      ),
    );
    expect(await kit.rows('SELECT COUNT(*) AS n, COUNT(DISTINCT lane) AS d FROM lane_pause')).to.deep.equal([
      { n: 3_502, d: 3_502 },
    ]);
  });

  it('inserts many large texts, more together than a server takes in one packet', async () => {
    const text = 'ü'.repeat(100_000);
    const rows = Array.from({ length: 150 }, (_, i) => ({ message_id: i + 1, record: `${text}${i}`, body: null }));
    await write((tx) => insertRows(tx, 'message_body', rows));
    const last = await kit.rows('SELECT record FROM message_body WHERE message_id=150');
    expect(last[0].record === `${text}149`).to.equal(true);
    expect(await kit.rows('SELECT COUNT(*) AS n FROM message_body')).to.deep.equal([{ n: 150 }]);
  });

  it('keeps NULL, quotes, emoji and line breaks as they are', async () => {
    const texts = ["O'Brien", 'a\\b', 'line\nbreak', '😀 ü', '?', ''];
    await write((tx) =>
      insertRows(
        tx,
        'lane_pause',
        texts.map((reason, i) => pause(`${i}`, { reason_data: reason, until_at: i % 2 === 0 ? null : i })),
      ),
    );
    expect(await all()).to.deep.equal(
      texts.map((reason, i) => ({ lane: `${i}`, until_at: i % 2 === 0 ? null : i, reason_data: reason })),
    );
  });

  it('takes the last of rows with one key, also where both come at once', async () => {
    await write((tx) =>
      upsertRows(
        tx,
        'lane_pause',
        ['lane', 'cause'],
        [pause('a', { reason_data: 'first' }), pause('a', { reason_data: 'last' })],
      ),
    );
    expect((await all()).map(({ reason_data }) => reason_data)).to.deep.equal(['last']);
  });

  it('loses no row for a U+0000 in a text, which not every database takes', async () => {
    await write((tx) => insertRows(tx, 'lane_pause', [pause('a', { reason_data: 'x\0y' }), pause('b')]));
    const [a, b] = await all();
    expect(a.reason_data).to.match(/^x[\0\ufffd]y$/);
    expect(b.reason_data).to.equal('reason of b');
  });

  it('inserts what is new and overwrites what is there', async () => {
    await write((tx) => upsertRows(tx, 'lane_pause', ['lane', 'cause'], [pause('a', { until_at: 5 }), pause('b')]));
    await write((tx) =>
      upsertRows(
        tx,
        'lane_pause',
        ['lane', 'cause'],
        [pause('a', { reason_data: 'new' }), pause('c', { until_at: 7 })],
      ),
    );
    expect(await all()).to.deep.equal([
      { lane: 'a', until_at: null, reason_data: 'new' },
      { lane: 'b', until_at: null, reason_data: 'reason of b' },
      { lane: 'c', until_at: 7, reason_data: 'reason of c' },
    ]);
  });

  it('updates many rows at once, each with its own values, and counts those that matched', async () => {
    await write((tx) =>
      insertRows(
        tx,
        'lane_pause',
        Array.from({ length: 1_000 }, (_, i) => pause(`${i}`)),
      ),
    );
    // More than one chunk; NULL first, so that no type is taken from it; some that aren't there.
    const values = Array.from({ length: 1_010 }, (_, i) => ({
      lane: `${i}`,
      until_at: i === 0 ? null : 1_790_000_000_000 + i,
      reason_data: i === 0 ? 'x' : `a much longer reason than the first one ${i}`,
    }));
    const matched = await write((tx) => updateRows(tx, 'lane_pause', ['lane'], values));
    expect(matched).to.equal(1_000);
    const rows = await kit.rows("SELECT lane, until_at, reason_data FROM lane_pause WHERE lane IN ('0','1','999')");
    expect(rows).to.have.deep.members([values[0], values[1], values[999]]);
    // Matched is not changed: the same values once more.
    expect(await write((tx) => updateRows(tx, 'lane_pause', ['lane'], values))).to.equal(1_000);
    expect(await write((tx) => updateRows(tx, 'lane_pause', ['lane'], []))).to.equal(0);
  });

  it('leaves alone what the guard does not let through', async () => {
    await write((tx) => insertRows(tx, 'lane_pause', [pause('a', { since_at: 1 }), pause('b', { since_at: 2 })]));
    const rows = ['a', 'b', 'c'].map((lane) => ({ lane, cause: 'operator', reason_data: 'guarded' }));
    const matched = await write((tx) =>
      updateRows(tx, 'lane_pause', ['lane', 'cause'], rows, {
        guard: 't.since_at=? AND t.actor=?',
        guardParameters: [2, 'test'],
      }),
    );
    expect(matched).to.equal(1);
    expect((await all()).map((row) => row.reason_data)).to.deep.equal(['reason of a', 'guarded']);
  });

  it('compares keys byte by byte', async () => {
    await write((tx) => insertRows(tx, 'lane_pause', [pause('Angry'), pause('angry'), pause('ängry')]));
    expect(
      await write((tx) => updateRows(tx, 'lane_pause', ['lane'], [{ lane: 'angry', reason_data: 'found' }])),
    ).to.equal(1);
    expect(
      await kit.rows(`SELECT lane FROM lane_pause WHERE lane IN ${placeholders(2)}`, ['angry', 'ANGRY']),
    ).to.deep.equal([{ lane: 'angry' }]);
  });
});
