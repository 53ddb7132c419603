import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { answers, onAnyStore } from './installation.js';

const personal = 'Grace Hopper-4711';

describe('waybill forget', () => {
  onAnyStore((installation) => {
    const { waybill, json } = installation;
    const forget = (...more: string[]) => waybill('forget', 'customer', '1', '--reason', 'a request', ...more);
    const rows = (sql: string) => installation.app.store.read('look', (tx) => tx.select(sql));
    /** Everything that the store says, in one text. */
    const dump = async () => {
      const tables = ['outbox_message', 'message_body', 'attempt', 'binding', 'audit_log', 'alert', 'lane_pause'];
      const all = await Promise.all(tables.map((table) => rows(`SELECT * FROM ${table}`)));
      return JSON.stringify(all);
    };
    const person = (more = {}) => ({
      entity: 'customer' as const,
      sourceKey: '1',
      record: { customer_code: 'K1', name: personal },
      ...more,
    });

    it('erases bodies, answers and reasons, and keeps key, id and hash', async () => {
      await installation.capture(person(), { entity: 'order', sourceKey: '7', customerKey: '1' });
      const excerpt = `{"customer_code":"K1","name":"${personal}"}`;
      await installation.deliver(() => ({ ...answers.timeout(), excerpt }));
      await installation.app.store.transaction('due', (tx) =>
        tx.run('UPDATE outbox_message SET next_attempt_at=0 WHERE next_attempt_at IS NOT NULL'),
      );
      await installation.deliver(({ entity }) => answers.created(entity === 'order' ? 'ord_7' : 'cus_1'));
      await installation.app.store.transaction('a word of the service', (tx) =>
        tx.run(
          `UPDATE attempt SET reason_code='legacy', reason_data=?
            WHERE message_id=(SELECT id FROM outbox_message WHERE entity='customer')`,
          [JSON.stringify({ text: { outside: `HTTP 400: ${personal} is too long` } })],
        ),
      );
      const [before] = await rows("SELECT * FROM binding WHERE entity='customer'");
      expect(before.acknowledged).to.contain(personal);
      expect(await dump()).to.contain(personal);

      const { code, stdout } = await forget('--yes');
      expect(stdout).to.match(/Forgotten: 1 bodies, 1 answers of 1 messages/);
      expect(code).to.equal(0);
      expect(await dump()).to.not.contain(personal);
      if (installation.app.store.dialect.name === 'sqlite') {
        const { store } = installation.app.settings;
        if (store.type === 'sqlite') expect(readFileSync(store.file, 'latin1')).to.not.contain(personal);
      }
      const [after] = await rows("SELECT * FROM binding WHERE entity='customer'");
      expect(after).to.deep.equal({ ...before, acknowledged: null });
      // Its order is still there, whole.
      expect(await rows('SELECT record FROM message_body')).to.have.length(1);
      const [line] = await rows("SELECT * FROM audit_log WHERE event='forget'");
      expect(line).to.include({ entity: 'customer', source_key: '1', outcome: 'operator' });
      expect(JSON.parse(line.detail)).to.deep.equal({
        reason: 'a request',
        messages: 1,
        bodies: 1,
        excerpts: 1,
      });
      expect((await waybill('explain', 'customer', '1')).stdout).to.contain('At the service, acknowledged as cus_1');
    });

    it('erases the bodies of every revision, and not of the last alone', async () => {
      await installation.capture(person());
      await installation.deliver(() => answers.created('cus_1'));
      await installation.capture(person({ operation: 'update', revision: 2, record: { name: `${personal}-2` } }));
      await installation.deliver(() => answers.created('cus_1'));
      expect((await forget('--yes')).stdout).to.match(/Forgotten: 2 bodies/);
      expect(await dump()).to.not.contain(personal);
    });

    it('lets the next change be sent whole, because what was acknowledged is forgotten', async () => {
      await installation.capture(person());
      await installation.deliver(() => answers.created('cus_1'));
      await forget('--yes');
      await installation.capture(
        person({ operation: 'update', revision: 2, record: { customer_code: 'K1', name: 'Another' } }),
      );
      const bodies: string[] = [];
      await installation.deliver((request) => {
        bodies.push(request.body as string);
        return answers.created('cus_1');
      });
      expect(bodies.map((body) => JSON.parse(body))).to.deep.equal([{ customer_code: 'K1', name: 'Another' }]);
    });

    it('refuses while its bytes may still have to be sent, or a person has to decide', async () => {
      await installation.capture(person());
      const pending = await forget('--yes');
      expect(pending.code).to.equal(1);
      expect(pending.stdout).to.contain('a message of it is pending');
      await installation.deliver(() => answers.refused(`name ${personal} is not allowed`));
      expect(await json('forget', 'customer', '1', '--reason', 'r', '--yes')).to.include({ forgotten: false });
      await waybill('outbox', 'discard', '--entity', 'customer', '--key', '1', '--reason', 'left', '--yes');
      expect((await forget('--yes')).code).to.equal(0);
      expect(await dump()).to.not.contain(personal);
    });

    it('says that nothing is known of a customer, and asks before it erases', async () => {
      expect((await forget('--yes')).stdout).to.contain('nothing is known of it');
      await installation.capture(person());
      await installation.deliver(() => answers.created('cus_1'));
      const { code, stderr } = await forget();
      expect(code).to.equal(2);
      expect(stderr).to.contain('--yes');
      expect(await dump()).to.contain(personal);
    });

    it('leaves nothing of its identity on its messages, and no word about it in a pause or an alert', async () => {
      const people = Array.from({ length: 10 }, (_, i) =>
        person({ sourceKey: String(i + 1), identity: JSON.stringify({ customer_code: personal }) }),
      );
      await installation.capture(...people);
      await installation.deliver(() => answers.refused(`name ${personal} is not allowed`));
      expect(await rows('SELECT cause FROM lane_pause')).to.deep.equal([{ cause: 'refusals' }]);
      const said = [await rows('SELECT * FROM lane_pause'), await rows('SELECT * FROM alert')];
      said.push(await rows('SELECT * FROM audit_log'));
      expect(JSON.stringify(said)).to.contain('equal_refusals').and.not.contain(personal);

      await waybill('outbox', 'discard', '--entity', 'customer', '--key', '1', '--reason', 'left', '--yes');
      expect((await forget('--yes')).code).to.equal(0);
      const left = await rows("SELECT * FROM outbox_message WHERE source_key='1'");
      expect(JSON.stringify(left)).to.not.contain(personal);
    });

    it('finds no word about a person in the audit, whatever the service or the row said', async () => {
      await installation.capture(
        person(),
        person({ sourceKey: '2', unmapped: `customer 2: born "${personal}" is not a date` }),
      );
      await installation.deliver(() => answers.refused(`name ${personal} is not allowed`));
      const audit = JSON.stringify(await rows('SELECT * FROM audit_log'));
      expect(audit).to.not.contain(personal);
      expect(audit).to.contain('http_refused').and.to.contain('words_left_out');
      // Whoever looks at the record itself is told all of it.
      expect((await waybill('explain', 'customer', '1')).stdout).to.contain(personal);
    });
  });
});
