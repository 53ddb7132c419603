import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { compareWitness, readWitness, writeWitness } from '../../../src/outbound/recovery/store-witness.js';
import { useTempDir } from '../../support/temp-dir.js';

describe('what the witness of a store shows', () => {
  const witness = { incarnation: 'one', auditId: 100, at: Date.UTC(2026, 10, 21, 8) };
  const store = { incarnation: 'one', auditId: 100, predecessors: [] as string[], hadWitness: true };

  it('nothing on a first run', () => {
    expect(compareWitness(null, { ...store, hadWitness: false })).to.equal(null);
  });

  it('that the store may be an older copy, when it had a witness and there is none', () => {
    const loss = compareWitness(null, store);
    expect(loss?.kind).to.equal('unwitnessed');
    expect(loss?.reason).to.contain('waybill recover --same-store');
  });

  it('nothing when the store is as far as it was seen, or farther', () => {
    expect(compareWitness(witness, store)).to.equal(null);
    expect(compareWitness(witness, { ...store, auditId: 101 })).to.equal(null);
  });

  it('a restored copy, when the store is behind', () => {
    const loss = compareWitness(witness, { ...store, auditId: 99 });
    expect(loss?.kind).to.equal('older');
    expect(loss?.reason).to.contain('99').and.to.contain('100').and.to.contain('2026-11-21T08:00');
  });

  it('a lost store, when another one is there in its place, however far that has come', () => {
    for (const auditId of [0, 100, 1_000])
      expect(compareWitness(witness, { ...store, incarnation: 'two', auditId })?.kind).to.equal('lost');
  });

  it('a restored copy, when the store was replaced by a recovery since', () => {
    const later = { ...witness, incarnation: 'three', predecessors: ['zero', 'one'] };
    const loss = compareWitness(later, store);
    expect(loss?.kind).to.equal('older');
    expect(loss?.reason).to.contain('before a recovery');
    expect(compareWitness(later, { ...store, incarnation: 'two' })?.kind).to.equal('lost');
  });

  it('nothing any more when a person has dealt with the loss on another machine', () => {
    expect(
      compareWitness(witness, { ...store, incarnation: 'two', auditId: 3, predecessors: ['zero', 'one'] }),
    ).to.equal(null);
  });
});

describe('a witness file', () => {
  const dir = useTempDir();

  it('comes back as it was written, is nobody else’s business, and leaves no draft behind', async () => {
    const file = dir.file('folder/witness.json');
    const witness = { incarnation: 'one', auditId: 7, at: 1, predecessors: ['zero'] };
    await writeWitness(file, { ...witness, auditId: 6 });
    await writeWitness(file, witness);
    expect(await readWitness(file)).to.deep.equal(witness);
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    expect(readdirSync(dirname(file))).to.deep.equal(['witness.json']);
  });

  it('is whole when several write at the same moment, also with one process id, as containers have', async () => {
    const file = dir.file('shared/witness.json');
    await Promise.all(
      [...Array(20).keys()].map((auditId) => writeWitness(file, { incarnation: 'one', auditId, at: 1 })),
    );
    expect((await readWitness(file))?.auditId).to.be.within(0, 19);
    expect(readdirSync(dirname(file))).to.deep.equal(['witness.json']);
  });

  it('removes the drafts that killed processes left, and neither a fresh one nor another file', async () => {
    const file = dir.file('killed/witness.json');
    await writeWitness(file, { incarnation: 'one', auditId: 1, at: 1 });
    const names = [`witness.json.${randomUUID()}`, `witness.json.${randomUUID()}`, 'witness.json.kept'];
    for (const name of names) writeFileSync(join(dirname(file), name), '');
    for (const name of [names[0], names[2]]) utimesSync(join(dirname(file), name as string), new Date(0), new Date(0));
    await writeWitness(file, { incarnation: 'one', auditId: 2, at: 1 });
    expect(readdirSync(dirname(file))).to.have.members(['witness.json', names[1], names[2]]);
  });

  it('leaves no draft behind when it can not be written', async () => {
    const file = dir.file('taken/witness.json');
    mkdirSync(file, { recursive: true });
    const error = await writeWitness(file, { incarnation: 'one', auditId: 7, at: 1 }).catch((thrown) => thrown);
    expect(error).to.be.instanceOf(Error);
    expect(readdirSync(dirname(file))).to.deep.equal(['witness.json']);
  });

  it('is none on a first run, and an error when it is something else', async () => {
    expect(await readWitness(dir.file('none.json'))).to.equal(null);
    for (const text of ['', '{', '[]', '{"incarnation":"one"}']) {
      writeFileSync(dir.file('bad.json'), text);
      const error = await readWitness(dir.file('bad.json')).then(
        () => null,
        (thrown: Error) => thrown,
      );
      expect(error?.message, text).to.contain('is no witness');
    }
  });
});
