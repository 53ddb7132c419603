import { expect } from 'chai';
import { serviceSettings } from '../../src/config/sections/service.js';
import { Unusable } from '../../src/model/verdict.js';
import { parseAnswer } from '../../src/service/judge.js';
import { recordQuestion } from '../../src/service/read-record.js';
import { told } from '../support/told.js';

const orderEndpoints = {
  readOrder: { readOrder: {} },
  lookUpOrder: {
    lookUpOrder: { path: '/v1/orders/{note}', id: 'order_id', match: { note: '{note}' }, total: 'total' },
  },
};

describe('what the service shows of one order', () => {
  for (const [name, endpoints] of Object.entries(orderEndpoints)) {
    const service = (changes: object = {}) =>
      serviceSettings.parse({ environment: 'sandbox', baseUrl: 'https://x.example.com', endpoints, ...changes });
    const read = (text: string, changes?: object) => {
      const record = { customer_code: 'K1', note: 'SO-7' };
      const asked = { entity: 'order', serviceId: 'o-1', record, idempotencyKey: null } as const;
      const question = recordQuestion(service(changes), asked);
      if ('problem' in question) throw new Error(question.problem.code);
      const answer = question.read(200, parseAnswer(question.places, text), text);
      return answer instanceof Unusable ? told(answer.problem) : answer;
    };
    const shown = (total: string, price: string, qty = '2') =>
      `{"order_id":"o-1","note":"SO-7","status":"x","total":${total},"items":[{"sku":"A","qty":${qty},"price":${price}}]}`;

    it(`is compared in the smallest unit, however quantities are written (${name})`, () => {
      for (const qty of ['2', '2.0', '2e0'])
        expect(read(shown('4100', '2050', qty))).to.deep.include({ kind: 'shown', total: 4100n });
      expect(read(shown('null', '2050'))).to.deep.include({ kind: 'shown', total: 4100n });
    });

    it(`can't be compared with a total or a price in another unit (${name})`, () => {
      for (const other of ['41.00', '4100.0', '4.1e3', '41.5', '"41.00"'])
        expect(read(shown(other, '2050')), other).to.match(/total: .* has a decimal point or an exponent/);
      for (const other of ['20.50', '2050.0', '2.05e3', '20.5'])
        for (const total of ['4100', 'null'])
          expect(read(shown(total, other)), other).to.match(/^items.price: .* has a decimal point or an exponent/);
    });
  }
});
