import { expect } from 'chai';
import type { ReadOrder } from '../../../src/erp/erp-reader.js';
import { maySetBack } from '../../../src/inbound/write-back/clear-pending.js';
import { contentHash } from '../../../src/outbound/capture/plan-row.js';
import { load, pathsOf, problemsOf, removeFolders, validSettings } from '../../config/folder.js';

const row: ReadOrder = {
  entity: 'order',
  sourceKey: '1',
  number: null,
  identity: null,
  customerKey: null,
  changedAt: '2026-11-23 10:00:00',
  changedAtMs: null,
  ageSeconds: 60,
  content: { mapped: true, record: { customer_code: 'K', items: [] } },
  totals: null,
};
const acknowledged = contentHash(row);

describe('a flag may be set back', () => {
  it('where the service has what the row says, and nowhere else', () => {
    expect(maySetBack(row, acknowledged)).to.equal('yes');
    expect(maySetBack(row, undefined)).to.equal('no');
    const edited = { ...row, content: { mapped: true as const, record: { customer_code: 'K', items: [], note: 'x' } } };
    expect(maySetBack(edited, acknowledged)).to.equal('no');
    const broken = {
      ...row,
      content: {
        mapped: false as const,
        problems: [{ code: 'not_text' as const, column: 'x' }] as const,
        fingerprint: 'x',
      },
    };
    expect(maySetBack(broken, acknowledged)).to.equal('no');
  });

  it('later, while the next edit may have the same time; at once where the column is a version', () => {
    for (const ageSeconds of [-5, 0, 9.9]) expect(maySetBack({ ...row, ageSeconds }, acknowledged)).to.equal('later');
    expect(maySetBack({ ...row, ageSeconds: 10 }, acknowledged)).to.equal('yes');
    expect(maySetBack({ ...row, ageSeconds: null }, acknowledged)).to.equal('yes');
    expect(maySetBack({ ...row, changedAt: null, ageSeconds: null }, acknowledged)).to.equal('no');
  });
});

describe('the statement that sets back a flag', () => {
  afterEach(removeFolders);
  const given = (clearPending: string, orders: object = { pending: 'flag=1', changedAt: 'updated_at' }) => {
    const settings = validSettings();
    const writeBack = { enabled: true, user: 'writer', orders: { clearPending } };
    return { ...settings, orders: { ...settings.orders, ...orders }, writeBack };
  };
  const statement = 'UPDATE sales_orders SET flag=0 WHERE id=:key_1 AND updated_at=:changed_at';
  const path = 'writeBack.orders.clearPending';

  it('compares when the row changed, and names nothing that is not known', () => {
    expect(load(given(statement)).settings.writeBack.orders.clearPending).to.equal(statement);
    expect(pathsOf(problemsOf(given('UPDATE sales_orders SET flag=0 WHERE id=:order_key')))).to.deep.equal([path]);
    expect(pathsOf(problemsOf(given(`${statement} AND x=:service_status`)))).to.deep.equal([path]);
    const nowhere = 'UPDATE sales_orders SET flag=0, remark=:changed_at WHERE id=:order_key';
    expect(pathsOf(problemsOf(given(nowhere)))).to.deep.equal([path]);
  });

  it('compares the key, because rows of one second have one time', () => {
    const ofAll = 'UPDATE sales_orders SET flag=0 WHERE updated_at=:changed_at';
    expect(pathsOf(problemsOf(given(ofAll)))).to.deep.equal([path]);
    expect(pathsOf(problemsOf(given(`${ofAll} -- AND id=:order_key`)))).to.deep.equal([path]);
  });

  it('needs a flag, and a column that tells of changes', () => {
    expect(pathsOf(problemsOf(given(statement, {})))).to.deep.equal(['orders.pending', 'orders.changedAt']);
  });
});
