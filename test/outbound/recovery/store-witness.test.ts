import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { appendAudit } from '../../../src/audit/audit-log.js';
import { createLogger } from '../../../src/ops/logger.js';
import {
  checkRestored,
  checkWitness,
  compareWitness,
  compareWitnesses,
  type RecoveryHold,
  readWitness,
  releaseSameStore,
  renewWitness,
  type Witness,
  WitnessKeeper,
  writeWitness,
} from '../../../src/outbound/recovery/store-witness.js';
import { openAlerts } from '../../../src/store/alerts.js';
import { onEveryStore } from '../../store/stores.js';
import { useTempDir } from '../../support/temp-dir.js';
import { told } from '../../support/told.js';

describe('what the witness of a store shows', () => {
  const witness = { incarnation: 'one', auditId: 100, at: Date.UTC(2026, 10, 21, 8) };
  const store = { incarnation: 'one', auditId: 100, predecessors: [] as string[], hadWitness: true };

  it('nothing on a first run', () => {
    expect(compareWitness(null, { ...store, hadWitness: false })).to.equal(null);
  });

  it('that the store may be an older copy, when it had a witness and there is none', () => {
    const loss = compareWitness(null, store);
    expect(loss?.kind).to.equal('unwitnessed');
    expect(told(loss?.reason)).to.contain('waybill recover --same-store');
  });

  it('nothing when the store is as far as it was seen, or farther', () => {
    expect(compareWitness(witness, store)).to.equal(null);
    expect(compareWitness(witness, { ...store, auditId: 101 })).to.equal(null);
  });

  it('a restored copy, when the store is behind', () => {
    const loss = compareWitness(witness, { ...store, auditId: 99 });
    expect(loss?.kind).to.equal('older');
    expect(told(loss?.reason)).to.contain('99').and.to.contain('100').and.to.contain('2026-11-21T08:00');
  });

  it('a lost store, when another one is there in its place, however far that has come', () => {
    for (const auditId of [0, 100, 1_000])
      expect(compareWitness(witness, { ...store, incarnation: 'two', auditId })?.kind).to.equal('lost');
  });

  it('a restored copy, when the store was replaced by a recovery since', () => {
    const later = { ...witness, incarnation: 'three', predecessors: ['zero', 'one'] };
    const loss = compareWitness(later, store);
    expect(loss?.kind).to.equal('older');
    expect(told(loss?.reason)).to.contain('before a recovery');
    expect(compareWitness(later, { ...store, incarnation: 'two' })?.kind).to.equal('lost');
  });

  it('nothing any more when a person has dealt with the loss on another machine', () => {
    expect(
      compareWitness(witness, { ...store, incarnation: 'two', auditId: 3, predecessors: ['zero', 'one'] }),
    ).to.equal(null);
  });
});

onEveryStore('a store whose witness is missing', (kit) => {
  const now = Date.UTC(2026, 10, 21, 8);
  let folders = 0;
  const newFile = () => join(kit.folder, `place-${++folders}`, 'witness.json');
  const set = (name: string, value: string) =>
    kit.store.transaction('set', (tx) => tx.run(`INSERT INTO store_info (name, value) VALUES ('${name}', '${value}')`));
  const lease = (process: string | null, expiresAt: string) =>
    kit.store.transaction('lease', async (tx) => {
      await tx.run(
        `INSERT INTO lease (name, epoch, holder, holder_process, expires_at) VALUES ('service', 1, 'somebody', ?, ${expiresAt.replace('now', tx.nowMs)})`,
        [process],
      );
    });

  it('is held when it had one in this place, once it knows anything, and until a person has spoken', async () => {
    const file = newFile();
    expect(await renewWitness(kit.store, [file], now)).to.include({ at: now });
    rmSync(file);
    expect(await checkWitness(kit.store, [file], now), 'an empty store misses nothing').to.equal(null);
    await set('go_live', '{}');
    const hold = await checkWitness(kit.store, [file], now + 1);
    expect(hold).to.include({ kind: 'unwitnessed', since: now + 1, witness: null });
    expect(await renewWitness(kit.store, [file], now + 2), 'nothing is written while it is held').to.equal(null);
    expect(existsSync(file)).to.equal(false);
    await kit.store.transaction('release', (tx) => releaseSameStore(tx, hold as RecoveryHold));
    expect(await renewWitness(kit.store, [file], now + 3)).to.include({ at: now + 3 });
    rmSync(file);
    expect((await checkWitness(kit.store, [file], now + 4))?.kind, 'it is held again when it is lost again').to.equal(
      'unwitnessed',
    );
  });

  it('goes on where a start was killed between the first file and its note', async () => {
    const file = newFile();
    await set('go_live', '{}');
    await renewWitness(kit.store, [file], now);
    await kit.store.transaction('as the kill left it', (tx) =>
      tx.run("DELETE FROM store_info WHERE name IN ('witnessed', 'witness_places')"),
    );
    expect(await checkWitness(kit.store, [file], now)).to.equal(null);
    rmSync(file);
    expect(await checkWitness(kit.store, [file], now)).to.equal(null);
  });

  it('leaves a running store alone whose witness file is deleted', async () => {
    const file = newFile();
    await set('go_live', '{}');
    const said = await renewWitness(kit.store, [file], now);
    rmSync(file);
    expect(await renewWitness(kit.store, [file], now + 1, said)).to.include({ at: now + 1 });
    expect(await readWitness(file)).to.include({ at: now + 1 });
    // Not when what ran is no longer there.
    rmSync(file);
    const newer = { incarnation: said?.incarnation ?? '', auditId: 1_000_000, at: now };
    expect(await renewWitness(kit.store, [file], now + 2, newer)).to.equal(null);
    expect(await checkWitness(kit.store, [file], now + 3)).to.include({ kind: 'older' });
  });

  if (kit.dialect !== 'sqlite') {
    it('goes on for a machine that joins, and where another process is at work on it', async () => {
      const file = newFile();
      await set('go_live', '{}');
      await renewWitness(kit.store, [file], now);
      expect(await checkWitness(kit.store, [newFile()], now), 'a machine that joins').to.equal(null);
      rmSync(file);
      await lease('boot-of-another-machine 1 2 3', 'now+60000');
      expect(await checkWitness(kit.store, [file], now), 'somebody is at work').to.equal(null);
      await kit.store.transaction('let go', (tx) => tx.run(`UPDATE lease SET expires_at=${tx.nowMs}-1`));
      expect((await checkWitness(kit.store, [file], now))?.kind).to.equal('unwitnessed');
    });

    it('is held when it was filled from a copy, on whatever machine', async () => {
      await set('go_live', '{}');
      await renewWitness(kit.store, [newFile()], now);
      expect((await checkRestored(kit.store, [newFile()], now))?.kind).to.equal('unwitnessed');
    });
  }

  it('is held by a second witness when its folder is lost or restored as a whole, and by no witness afterwards', async () => {
    const [file, second] = [newFile(), newFile()];
    await set('go_live', '{}');
    await renewWitness(kit.store, [file], now);
    expect(await renewWitness(kit.store, [file, second], now + 1), 'an upgrade adds it, and holds nothing').to.include({
      at: now + 1,
    });
    const old = await readWitness(file);
    await kit.store.transaction('go on', (tx) => appendAudit(tx, [{ event: 'operator', actor: 'test' }], now));
    await renewWitness(kit.store, [file, second], now + 2);
    expect(await readWitness(second)).to.deep.equal(await readWitness(file));

    await writeWitness(file, old as Witness);
    await kit.rows('DELETE FROM audit_log');
    await kit.store.transaction('the whole folder is restored', (tx) =>
      tx.run(`UPDATE store_info SET value='${old?.auditId}' WHERE name='witnessed'`),
    );
    expect(await checkWitness(kit.store, [file], now), 'the first one came back with it').to.equal(null);
    expect(await checkWitness(kit.store, [file, second], now)).to.include({ kind: 'older' });
    await kit.rows("DELETE FROM store_info WHERE name='recovery'");
    await kit.rows("UPDATE store_info SET value='made anew' WHERE name='incarnation'");
    expect(await checkWitness(kit.store, [newFile(), second], now), 'store and first one are lost').to.include({
      kind: 'lost',
    });
  });

  it('raises an alert while a witness can not be written, and writes the other one', async () => {
    const [file, gone] = [newFile(), join(kit.folder, `gone-${folders}`)];
    symlinkSync(join(kit.folder, 'unmounted'), gone);
    const files = [file, join(gone, 'witness.json')] as const;
    const alerts = async () => (await kit.store.read('look', openAlerts)).map(({ message }) => message);
    const log = createLogger({ level: 'error', stream: 'stderr', secrets: [] });
    await (await WitnessKeeper.start(kit.store, files, log)).stop();
    expect(await readWitness(file), 'the other one').to.not.equal(null);
    const raised = await alerts();
    expect(raised).to.have.lengthOf(1);
    expect(raised[0]).to.include({ code: 'witness_unwritten', file: files[1] });
    rmSync(gone);
    await (await WitnessKeeper.start(kit.store, files, log)).stop();
    expect(await alerts()).to.deep.equal([]);
    expect(await readWitness(files[1])).to.not.equal(null);
  });

  it('leaves behind, when it is lost itself, that its records got other keys', async () => {
    const file = newFile();
    await renewWitness(kit.store, [file], now);
    await set('rekeyed_at', '12');
    await renewWitness(kit.store, [file], now);
    expect(await readWitness(file)).to.include({ rekeyedAt: 12 });
    await kit.store.transaction('another store', (tx) =>
      tx.run("UPDATE store_info SET value='another' WHERE name='incarnation'"),
    );
    const hold = await checkWitness(kit.store, [file], now);
    expect(hold?.witness).to.include({ rekeyedAt: 12 });
    expect(hold).to.include({ kind: 'lost', copyAt: null });
  });
});

describe('two witnesses', () => {
  const store = { incarnation: 'new', auditId: 5, predecessors: [], hadWitness: false };

  it('speak with one voice of a loss, so that none holds the store again afterwards', () => {
    const older = { incarnation: 'a', auditId: 9, at: 1, predecessors: ['z'], rekeyedAt: 3 };
    const newer = { incarnation: 'b', auditId: 1, at: 2 };
    const { loss, witness } = compareWitnesses([newer, older], store);
    expect(loss?.kind).to.equal('lost');
    expect(witness).to.deep.equal({ ...newer, predecessors: ['z', 'a'], rekeyedAt: 3 });
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
