import { expect } from 'chai';
import { answers, onAnyStore } from './installation.js';

describe('waybill bindings move', () => {
  onAnyStore((installation) => {
    const { waybill, json } = installation;
    const rows = (sql: string) => installation.app.store.read('look', (tx) => tx.select(sql));
    const bound = async () => (await rows('SELECT service_id, said_check FROM binding ORDER BY source_key'))[0];
    const fill = async () => {
      await installation.capture(
        { entity: 'order', sourceKey: '1', number: 'SO-1' },
        { entity: 'order', sourceKey: '2', number: '1' },
      );
      await installation.deliver(({ body }) => answers.created(body.includes('SO-1') ? 'ord_1' : 'ord_2'));
    };
    const move = (...more: string[]) =>
      waybill('bindings', 'move', 'order', ...more, '--reason', 'it was made twice', '--yes');

    it('moves a record to another id that a person names with the one on record, and says whose word it is', async () => {
      await fill();
      const unchecked = await move('SO-1', '--from', 'ord_1', '--to', 'ord_9');
      expect(unchecked.code).to.equal(1);
      expect(unchecked.stdout).to.contain('service.endpoints.readOrder').and.to.contain('--unchecked');
      expect(await bound()).to.deep.equal({ service_id: 'ord_1', said_check: null });
      const done = await move('SO-1', '--from', 'ord_1', '--to', 'ord_9', '--unchecked');
      expect(done.code, done.stderr).to.equal(0);
      expect(await bound()).to.deep.equal({ service_id: 'ord_9', said_check: 'unasked' });
      const [line] = await rows("SELECT detail FROM audit_log WHERE outcome='move_binding'");
      expect(JSON.parse(line.detail)).to.include({ from: 'ord_1', to: 'ord_9', reason: 'it was made twice' });
      const story = await waybill('explain', 'order', 'SO-1');
      expect(story.stdout)
        .to.contain('recorded as there, as ord_9, by')
        .and.to.contain('not checked at the service')
        .and.to.contain('not acknowledged by the service')
        .and.to.contain('waybill bindings move order 1 --by key --from ord_9 --to ID')
        .and.not.to.contain('acknowledged as ord_9');
      expect((await json('explain', 'order', 'SO-1')).binding.said).to.include({ check: 'unasked' });
    });

    it('refuses an id that is not on record, one that another record has, and a name that two have', async () => {
      await fill();
      const wrong = await move('1', '--by', 'key', '--from', 'ord_7', '--to', 'ord_9', '--unchecked');
      expect(wrong.stdout).to.contain('it is ord_1 at the service, not ord_7');
      const taken = await move('SO-1', '--from', 'ord_1', '--to', 'ord_2', '--unchecked');
      expect(taken.stdout).to.contain('ord_2 is the order with the key 2 already');
      const ambiguous = await move('1', '--from', 'ord_1', '--to', 'ord_9', '--unchecked');
      expect(ambiguous.code).to.equal(2);
      expect(ambiguous.stderr).to.contain('1 names 2 records');
      expect(await bound()).to.deep.equal({ service_id: 'ord_1', said_check: null });
    });
  });
});
