import { expect } from 'chai';
import { numberingPart } from '../../../../src/operator/setup/init/words.js';

describe('the part of a key that numbers the orders', () => {
  const cases: [string[], string | undefined][] = [
    [['type'], 'type'],
    [['bel_art', 'bel_nr'], 'bel_nr'],
    [['OrderNo', 'CompanyID'], 'OrderNo'],
    [['MANDT', 'VBELN'], 'VBELN'],
    [['gj', 'auftragsart', 'nummer'], 'nummer'],
    [['shop', 'part_no'], 'part_no'],
    [['doc_type', 'Mandant'], undefined],
  ];
  for (const [key, part] of cases)
    it(`of (${key}) is ${part ?? 'none: a person names it'}`, () => expect(numberingPart(key)).to.equal(part));
});
