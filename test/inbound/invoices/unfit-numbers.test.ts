import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { listMalformedInvoices } from '../../../src/inbound/invoices/list-invoices.js';
import { tell } from '../../../src/words/words.js';
import { onEveryLab } from '../../support/jobs/job-lab.js';

onEveryLab('a number that not every store can keep', (kit) => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  /** @param numbers as they stand in the JSON */
  const labWith = async (numbers: readonly string[]) => {
    const rows = numbers.map((no) => `{"invoice_no":"${no}","amount":100,"due_date":"2026-12-01","status":"unpaid"}`);
    const body = Buffer.from(`{"data":[${rows.join(',')}],"total":${numbers.length}}`, 'latin1');
    const server = createServer((_, response) => response.setHeader('content-type', 'application/json').end(body));
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    closing.push(() => new Promise((closed) => server.close(closed)));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const plain = await kit.start({ customers: 1, orders: 1 });
    return plain.another({ settings: { service: { baseUrl } } });
  };

  for (const [what, numbers] of [
    ['NUL beside U+FFFD', ['A\\u0000', 'A\\ufffd']],
    ['two halves of characters', ['\\ud800A', '\\ud801A']],
    ['bytes that are no UTF-8, two of which look alike', ['Rechnung-\xe4', 'Rechnung-\xf6']],
  ] as const)
    it(`sets aside its invoice, and lists the others: ${what}`, async () => {
      const lab = await labWith([...numbers, 'INV-1']);
      for (let nth = 0; nth < 2; nth++)
        expect(await lab.pull()).to.include({ outcome: 'proven', unpaid: 1, malformed: 2 });
      expect(await kit.rows('SELECT invoice_no FROM invoice')).to.deep.equal([{ invoice_no: 'INV-1' }]);
      const aside = await kit.store.read('look', (tx) => listMalformedInvoices(tx, 10));
      expect(aside.map(({ invoice_no }) => invoice_no)).to.deep.equal([null, null]);
      for (const { reason } of aside)
        expect(tell(reason)).to.match(/^invoice_no: holds NUL, half of a character, or U\+FFFD/);
    });
});
