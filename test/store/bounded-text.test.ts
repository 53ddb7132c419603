import { expect } from 'chai';
import fc from 'fast-check';
import { bounded, boundedText, insertRows, type Row, updateRows, upsertRows } from '../../src/store/rows.js';
import { schemaTables } from '../../src/store/schema.js';
import { onEveryStore } from './stores.js';

const column = 'reconcile_finding.number';

describe('texts bounded by their columns', () => {
  it('leaves what fits, counted in characters and not in halves of a pair', () => {
    for (const text of [null, '', 'x'.repeat(255), '😀'.repeat(255)]) expect(bounded(column, text)).to.equal(text);
  });

  it('cuts words with a mark, and never through a character', () => {
    expect(boundedText(column, 'x'.repeat(256))).to.equal(`${'x'.repeat(254)}…`);
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 240, maxLength: 600 }), (text) => {
        const kept = boundedText(column, text);
        const points = [...kept];
        expect(points.length).to.be.at.most(255);
        if (kept === text) return;
        expect([...text].length).to.be.above(255);
        expect(points.at(-1)).to.equal('…');
        expect([...text].slice(0, 254)).to.deep.equal(points.slice(0, -1));
      }),
    );
  });

  it('cuts a change cursor to what sorts before it, and never what names a record', () => {
    expect(bounded('capture_cursor.changed_at', '2'.repeat(70))).to.equal('2'.repeat(64));
    expect(bounded('outbox_message.source_key', 'k'.repeat(300))).to.have.length(300);
  });
});

/** Columns that a constraint ties to others. */
const tied: Readonly<Record<string, Row>> = {
  outbox_message: {
    state: 'delivered',
    next_attempt_at: null,
    waits_for: null,
    key_in: null,
    key_field: null,
    first_sent_at: null,
  },
  write_back_target: { sweep_phase: 'known' },
};

onEveryStore('rows with texts of any length', (kit) => {
  const long = `${'x'}${'😀'.repeat(70_000)}`;

  for (const [table, definition] of Object.entries(schemaTables)) {
    const columns = [...definition.matchAll(/(\w+) (VARCHAR|CHAR|TEXT|MEDIUMTEXT|INT|BIGINT|TINYINT)(?:\((\d+)\))?/g)];
    const words = columns.map(([, name = '']) => name).filter((name) => bounded(`${table}.${name}`, long) !== long);
    if (words.length === 0) continue;

    it(`${table} takes over-long ${words.join(', ')}`, async () => {
      const row: Row = Object.fromEntries(
        columns.map(([, name = '', type = '', width]) => {
          if (words.includes(name)) return [name, long];
          if (type.endsWith('INT')) return [name, 1];
          return [name, width === undefined ? '{}' : 'k'];
        }),
      );
      Object.assign(row, tied[table]);
      // `id` and other keys are given, so that the three ways of writing meet the same row.
      if (!('id' in row) && /^\s*id\b/.test(definition)) row.id = 1;
      const key =
        'id' in row
          ? ['id']
          : (/PRIMARY KEY \(([^)]+)\)/.exec(definition)?.[1]?.split(', ') ?? [columns[0]?.[1] as string]);
      await kit.store.transaction('write', async (tx) => {
        await tx.run(`DELETE FROM ${table}`);
        await insertRows(tx, table, [row]);
        await upsertRows(tx, table, key, [row]);
        await updateRows(tx, table, key, [row]);
      });
      const [kept] = await kit.rows(`SELECT ${words.join(', ')} FROM ${table}`);
      for (const name of words) {
        expect(kept[name], name).to.equal(bounded(`${table}.${name}`, long));
        expect([...kept[name]].length, name).to.be.below(16_001);
      }
    });
  }
});
