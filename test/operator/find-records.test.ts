import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { expect } from 'chai';
import { legacy } from '../../src/model/facts/fact.js';
import type { Entity } from '../../src/model/record.js';
import {
  AmbiguousName,
  findRecords,
  keysMeant,
  type Naming,
  recordName,
  recordsMeant,
  recordsNamed,
} from '../../src/operator/find-records.js';
import { keepNumbers } from '../../src/outbound/outbox/bindings.js';
import { insertMessages } from '../../src/outbound/outbox/new-messages.js';
import { tell } from '../../src/words/words.js';
import { onEveryStore } from '../store/stores.js';
import { projectRoot } from '../support/project-root.js';

onEveryStore('the names of records', (kit) => {
  const capture = (entity: Entity, sourceKey: string, number: string | null, identity: string | null = null) =>
    kit.store.transaction('capture', (tx) =>
      insertMessages(
        tx,
        [
          {
            ...{ entity, sourceKey, number, identity, revision: 1, operation: 'create', generation: 0 },
            ...{ customerKey: null, contentHash: 'h', mappingFingerprint: 'm', record: '{}', idempotencyKey: null },
            parked: { parkClass: 'conflict', reason: legacy('a test') },
          },
        ],
        1,
      ),
    );
  const bind = (entity: Entity, sourceKey: string, serviceId: string, identity: string | null = null) =>
    kit.store.transaction('bind', (tx) =>
      tx.run(
        `INSERT INTO binding (entity, source_key, service_id, identity, revision, generation, content_hash,
            mapping_fingerprint, acknowledged_at, folded_key) VALUES (?,?,?,?,1,0,'h','m',1,?)`,
        [entity, sourceKey, serviceId, identity, sourceKey],
      ),
    );
  const code = (text: string) => JSON.stringify({ customer_code: text });
  const naming = (more: Partial<Naming> = {}): Naming => ({ by: 'any', sources: [''], ...more });
  const named = async (name: string, more: Partial<Naming> = {}) =>
    (await kit.store.read('look', (tx) => findRecords(tx, name, naming(more)))).map((one) => [
      recordName(one),
      one.number,
      one.as.join(),
    ]);
  const meant = async (name: string, more: Partial<Naming> = {}) =>
    (await kit.store.read('look', (tx) => recordsMeant(tx, [name], naming(more)))).map(recordName);
  const keys = async (name: string, more: Partial<Naming> = {}) =>
    kit.store.read('look', (tx) => keysMeant(tx, [name], { ...naming(more), entity: 'order' }));
  const refused = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(AmbiguousName);
    return tell((error as AmbiguousName).fact);
  };

  it('fit one record by its key and another by its number: readers see both, an action takes neither', async () => {
    await capture('order', '90011', '90012');
    await capture('order', '90012', 'A-90012');
    const both = [
      ['order 90012', 'A-90012', 'key'],
      ['order 90011', '90012', 'number'],
    ];
    expect(await named('90012')).to.deep.equal(both);
    expect(await refused(meant('90012'))).to.equal(
      '90012 names 2 records: order 90012 (number A-90012), by its key; order 90011 (number 90012), by its number',
    );
    expect(await meant('90012', { by: 'key' })).to.deep.equal(['order 90012']);
    expect(await meant('90012', { by: 'number' })).to.deep.equal(['order 90011']);
    expect(await meant('A-90012')).to.deep.equal(['order 90012']);
    expect(await meant('unknown')).to.deep.equal([]);
  });

  it('fit one record once where its number is its key', async () => {
    await capture('order', '7', '7');
    expect(await named('7')).to.deep.equal([['order 7', '7', 'key,number']]);
    expect(await meant('7')).to.deep.equal(['order 7']);
  });

  it('fit a customer and an order, two orders with one number, and the code of one customer beside the key of another', async () => {
    await capture('order', '1', 'auto');
    await capture('order', '2', 'auto');
    await capture('customer', '1', null, code('2'));
    await capture('customer', '2', null, code('K2'));
    await bind('customer', '3', 'K3', code('K3'));
    await bind('customer', '4', '3', code('K4'));
    await refused(meant('1'));
    expect(await meant('1', { entity: 'order' })).to.deep.equal(['order 1']);
    await refused(meant('auto'));
    await refused(meant('2', { entity: 'customer' }));
    expect(await meant('2', { entity: 'customer', by: 'number' })).to.deep.equal(['customer 1']);
    expect(await meant('K2')).to.deep.equal(['customer 2']);
    expect(await meant('K3')).to.deep.equal(['customer 3']);
    // An id that the service gave is no code, and an action takes no record by it.
    expect(await meant('3', { entity: 'customer' })).to.deep.equal(['customer 3']);
    await bind('order', '8', 'ord_8');
    expect(await named('ord_8')).to.deep.equal([['order 8', null, 'id']]);
    expect(await meant('ord_8')).to.deep.equal([]);
  });

  it('find an order by its number when its messages are pruned', async () => {
    await capture('order', '1500', 'A-101500');
    await bind('order', '1500', 'ord_1');
    const [{ id }] = await kit.rows('SELECT id FROM outbox_message');
    await kit.store.transaction('prune', async (tx) => {
      await keepNumbers(tx, [Number(id)]);
      await tx.run('DELETE FROM outbox_message');
    });
    expect(await named('A-101500')).to.deep.equal([['order 1500', 'A-101500', 'number']]);
  });

  it('fit the same key in several sources; a key without its source never means another source', async () => {
    const sources = ['', 'berlin'];
    await capture('order', 'berlin~5', 'B-5');
    expect(await named('5', { sources })).to.deep.equal([['order berlin~5', 'B-5', 'key']]);
    expect(await refused(meant('5', { sources }))).to.equal(
      '5 names 1 record: order berlin~5 (number B-5), by its key',
    );
    expect(await meant('5', { sources, source: 'berlin' })).to.deep.equal(['order berlin~5']);
    expect(await meant('berlin~5', { sources })).to.deep.equal(['order berlin~5']);
    await capture('order', '5', 'B-5');
    await refused(meant('5', { sources }));
    await refused(meant('B-5', { sources }));
    expect(await meant('5', { sources, source: '' })).to.deep.equal(['order 5']);
    expect(await meant('B-5', { sources, source: 'berlin' })).to.deep.equal(['order berlin~5']);
  });

  it('are keys where the ERP is asked, also of rows that Waybill does not know, and refused where another order has that number', async () => {
    await capture('order', '1', '2');
    expect(await keys('1')).to.deep.equal(['1']);
    expect(await keys('99')).to.deep.equal(['99']);
    expect(await refused(keys('2'))).to.equal(
      '2 names 2 records: order 2, by its key; order 1 (number 2), by its number',
    );
    expect(await keys('2', { by: 'key' })).to.deep.equal(['2']);
    expect(await keys('2', { by: 'number' })).to.deep.equal(['1']);
    expect(await keys('5', { source: 'berlin' })).to.deep.equal(['berlin~5']);
  });

  it('are looked up many at a time, each for itself', async () => {
    await capture('order', '1', 'A-1');
    await capture('order', '2', 'A-2');
    const found = await kit.store.read('look', (tx) => recordsNamed(tx, ['A-2', '1', 'nothing', 'A-1'], naming()));
    expect([...found].map(([name, records]) => [name, records.map(recordName)])).to.deep.equal([
      ['A-2', ['order 2']],
      ['1', ['order 1']],
      ['nothing', []],
      ['A-1', ['order 1']],
    ]);
  });
});

describe('names of records in the source', () => {
  /** A condition on the number of a record, or a lookup in a list by it: both decide what a typed name means. */
  const readsNames = /\bnumber\s*(?:=\s*\?|(?:NOT\s+)?IN\b|LIKE\b)|\.(?:get|has)\((?:\w+\.)*number\)/;

  it('are read in one place alone', () => {
    const files = ['operator', 'desk', 'cli'].flatMap((room) =>
      readdirSync(join(projectRoot, 'src', room), { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.tsx?$/.test(file))
        .map((file) => `${room}/${file.split(sep).join('/')}`),
    );
    expect(files).to.include('operator/list-messages.ts');
    const readers = files.filter((file) => readsNames.test(readFileSync(join(projectRoot, 'src', file), 'utf8')));
    expect(readers).to.deep.equal(['operator/find-records.ts']);
  });

  for (const source of [
    'm.source_key IN (?) OR m.number IN (?)',
    'source_key = ? OR number = ?',
    'list.idByKey.get(message.number)',
  ])
    it(`and another place is found: ${source}`, () => expect(source).to.match(readsNames));
});
