import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { settingsFrom } from '../../../src/config/load-settings.js';
import type { ErpPage, ReadCustomer, ReadOrder } from '../../../src/erp/erp-reader.js';
import { createSampleErp, sampleErpMapping } from '../../../src/lab/sample-erp/create-sample-erp.js';
import { canonicalJson, sha256 } from '../../../src/outbound/outbox/content-hash.js';
import { createKey } from '../../../src/outbound/outbox/idempotency-key.js';
import { problemsInWords } from '../../erp/problems-in-words.js';
import { erpReaderOf } from '../../support/erp-reader.js';
import { projectRoot } from '../../support/project-root.js';
import { useTempDir } from '../../support/temp-dir.js';

interface PinnedRecord {
  entity: string;
  sourceKey: string;
  idempotencyKey: string;
  body: string;
  bodyHash: string;
}

const installation = 'pinned-office';
const why = [
  'A key, a body or a hash of a create is no longer what it was. That must not happen, whatever the reason for the change:',
  '- After an upgrade every record whose hash differs is taken for an edited one and sent again as an update.',
  '- After the loss of a store, creates go out again under the same keys, and only the same bytes are recognised by the',
  '  service: another body is a conflict, and another key makes a second order.',
  'Undo the change, or let it apply to records only that were never captured. Do not rewrite pinned.json.',
].join('\n');

describe('keys, bodies and hashes of sample records', () => {
  const folder = useTempDir();
  const pinned: PinnedRecord[] = JSON.parse(
    readFileSync(join(projectRoot, 'test/outbound/outbox/pinned.json'), 'utf8'),
  );

  /** The whole way of a record from the database's rows to its frozen bytes. */
  async function makeRecords(): Promise<PinnedRecord[]> {
    const file = folder.file('erp.sqlite');
    await createSampleErp({ target: { type: 'sqlite', file }, seed: 1, customers: 10, orders: 40 });
    const settings = settingsFrom({
      installation,
      ...sampleErpMapping,
      erp: { type: 'sqlite', file, ...sampleErpMapping.erp },
      service: { environment: 'sandbox', baseUrl: 'https://sandbox.example.com', token: 'token-for-tests' },
    });
    const reader = erpReaderOf(settings);
    try {
      const orders: ErpPage<ReadOrder> = await reader.sweep('order', null, 1_000);
      const customers = new Map(orders.customers.map((row) => [row.sourceKey, row]));
      return [...customers.values(), ...orders.rows].map(frozen);
    } finally {
      await reader.close();
    }
  }

  function frozen({ entity, sourceKey, content }: ReadCustomer | ReadOrder): PinnedRecord {
    if (!content.mapped) throw new Error(`${entity} ${sourceKey} could not be mapped: ${problemsInWords(content)}`);
    const body = canonicalJson(content.record);
    const idempotencyKey = createKey(installation, entity, sourceKey, 0);
    return { entity, sourceKey, idempotencyKey, body, bodyHash: sha256(body) };
  }

  it('are what they have always been', async () => {
    const byName = (a: PinnedRecord, b: PinnedRecord) =>
      a.entity.localeCompare(b.entity) || Number(a.sourceKey) - Number(b.sourceKey);
    const made = (await makeRecords()).sort(byName);
    expect(made, why).to.deep.equal(pinned);
  });

  it('are fifty records that show what bytes are made of', () => {
    expect(pinned.filter(({ entity }) => entity === 'customer')).to.have.length(10);
    expect(pinned.filter(({ entity }) => entity === 'order')).to.have.length(40);
    expect(new Set(pinned.map(({ idempotencyKey }) => idempotencyKey)).size).to.equal(50);
    const bodies = pinned.map(({ body }) => body).join('\n');
    for (const piece of ['ü', 'ß', '\\"', "'", '&']) expect(bodies).to.include(piece);
    for (const { body, bodyHash } of pinned) expect(sha256(body)).to.equal(bodyHash);
  });
});
