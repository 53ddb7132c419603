import { expect } from 'chai';
import { legacy } from '../../src/model/facts/fact.js';
import type { Entity } from '../../src/model/record.js';
import type { Verdict } from '../../src/model/verdict.js';
import { listMessages } from '../../src/operator/list-messages.js';
import { countOpen, customersOfOrders } from '../../src/operator/sync.js';
import { knownRecords } from '../../src/outbound/capture/known-records.js';
import { endOlderEpochs, unendedWrites } from '../../src/outbound/deliver/attempts.js';
import { claimLookUps } from '../../src/outbound/deliver/claim-look-ups.js';
import { type ClaimedMessage, claimMessages } from '../../src/outbound/deliver/claim-messages.js';
import { parkForgottenKeys, parkUnsendable, settleNothingToSend } from '../../src/outbound/deliver/claims.js';
import { type ClaimScope, dueMessages, nextDueAt } from '../../src/outbound/deliver/due-messages.js';
import type { SettledMessage } from '../../src/outbound/deliver/ended-attempt.js';
import { probeMessageId } from '../../src/outbound/deliver/lane-keeper.js';
import { passedSinceForbidden } from '../../src/outbound/deliver/past-requests.js';
import { settleMessages } from '../../src/outbound/deliver/settle-messages.js';
import { sha256 } from '../../src/outbound/outbox/content-hash.js';
import { createKey } from '../../src/outbound/outbox/idempotency-key.js';
import { settle } from '../../src/outbound/outbox/message.js';
import { insertMessages, type NewMessage } from '../../src/outbound/outbox/new-messages.js';
import { promoteDependent } from '../../src/outbound/outbox/promote-dependent.js';
import { doubtOlderEpochs, supersedeUnsent } from '../../src/outbound/outbox/transitions.js';
import { writeStoreInfo } from '../../src/store/store-info.js';
import { says } from '../../src/words/words.js';
import { everyAttempt } from '../support/every-attempt.js';
import { forged } from '../support/forged.js';
import { claimTerms } from '../support/jobs/claim-terms.js';
import { attemptsSql } from '../torture/store-witness.js';
import { onEveryStore, onServers } from './stores.js';

const all = { only: null };
const now = 1_790_000_000_000;
const resendsSince = (sentSinceMs: number) => ({ sentSinceMs, lookedUp: [] });
const clockAt = (ms: number) => ({ bootId: 'a', bootMs: ms, wallMs: ms });

onEveryStore('the outbox', (kit) => {
  const write = <T>(work: Parameters<typeof kit.store.transaction<T>>[1]) => kit.store.transaction('write', work);

  const message = (entity: 'customer' | 'order', sourceKey: string, more: Partial<NewMessage> = {}): NewMessage => {
    const record = JSON.stringify({ customer_code: sourceKey, ...(entity === 'order' ? { items: [] } : {}) });
    return {
      entity,
      sourceKey,
      revision: 1,
      operation: 'create',
      generation: 0,
      number: `N-${sourceKey}`,
      customerKey: null,
      contentHash: sha256(record),
      mappingFingerprint: sha256('mapping'),
      record,
      idempotencyKey: createKey('test-office', entity, sourceKey, 0),
      parked: null,
      ...more,
    };
  };
  const update = (entity: 'customer' | 'order', sourceKey: string, revision: number, fields: object) => {
    const record = JSON.stringify(fields);
    return message(entity, sourceKey, {
      revision,
      operation: 'update',
      record,
      contentHash: sha256(record),
      idempotencyKey: null,
    });
  };
  it('claims no more at once than can be composed in a moment, and the rest with the next claims', async () => {
    const long = JSON.stringify({ customer_code: 'x', note: 'long '.repeat(60_000) });
    const ids = await insert(
      ...['a', 'b', 'c', 'd', 'e', 'f'].map((key) => message('customer', key, { record: long })),
    );
    const first = await claim(ids);
    expect(first.claimed.map(({ id }) => id)).to.deep.equal(ids.slice(0, 4));
    expect((await claim(ids)).claimed.map(({ id }) => id)).to.deep.equal(ids.slice(4));
  });

  it('parks a due message whose content was erased, instead of claiming it for ever', async () => {
    const [unsent = 0, doubted = 0, whole = 0] = await insert(
      message('customer', 'a'),
      message('customer', 'b'),
      message('customer', 'c'),
    );
    await set(doubted, `${forged.in_doubt}, was_sent=1, first_sent_at=${now - 1}`);
    await write((tx) => tx.run('DELETE FROM message_body WHERE message_id<>?', [whole]));
    const { claimed, held } = await claim([unsent, doubted, whole]);
    await write((tx) => parkUnsendable(tx, held));
    expect(claimed.map(({ id }) => id)).to.deep.equal([whole]);
    expect(held.map(({ id }) => id)).to.have.members([unsent, doubted]);
    expect(await stateOf(unsent)).to.include({ state: 'parked', park_class: 'held' });
    expect(await stateOf(doubted)).to.include({ state: 'parked', park_class: 'unproven' });
    expect((await stateOf(unsent)).reason).to.include('Its content was erased');
    expect(await due()).to.deep.equal([]);
  });

  const insert = (...messages: NewMessage[]) => write((tx) => insertMessages(tx, messages, now));
  const due = (limit = 100, scope: ClaimScope = all, at = now) =>
    kit.store.read('look', async (tx) =>
      (await dueMessages(tx, limit, { nowMs: at, scope, resends: { sentSinceMs: 0, lookedUp: [] } })).map(
        ({ id }) => id,
      ),
    );
  const claim = (ids: number[], epoch = 1, nowMs = now, store = kit.store, keyLifetimeMs = Number.POSITIVE_INFINITY) =>
    store.transaction('claim', (tx) => claimMessages(tx, ids, claimTerms({ epoch, nowMs, keyLifetimeMs })));
  const stateOf = async (id: number) => (await kit.rows('SELECT * FROM outbox_message WHERE id=?', [id]))[0];
  const set = (id: number, columns: string) =>
    write((tx) => tx.run(`UPDATE outbox_message SET ${columns} WHERE id=?`, [id]));

  const settled = (claimed: ClaimedMessage, verdict: Verdict): SettledMessage => ({
    about: claimed,
    transition: settle(claimed, verdict, {
      nowMs: now + 10,
      random: 0.5,
      backoff: { baseMs: 100, maxMs: 1000 },
      sentAtMs: now + 1,
      tries: 1,
    }),
    sent: {
      verdict,
      startedAtMs: now + 1,
      durationMs: 5,
      status: 201,
      requestId: 'req-1',
      excerpt: '{"order_id":"O-1"}',
    },
    isProbe: false,
  });
  const settleAll = (batch: readonly SettledMessage[], epoch: number, at: number) =>
    write((tx) => settleMessages(tx, batch, epoch, 'test', clockAt(at)));
  const delivered = (serviceId: string): Verdict => ({ kind: 'delivered', serviceId, flag: null });
  const deliverAll = async (ids: number[], epoch = 1) => {
    const { claimed } = await claim(ids, epoch);
    const done = claimed.map((one) => settled(one, delivered(`S-${one.sourceKey}`)));
    await settleAll(done, epoch, now + 10);
    return claimed;
  };

  it('keeps keys apart that differ in case, accent or a trailing space, from capture to binding', async () => {
    const keys = ['ka', 'KA', 'ka ', 'kä', ' ka'];
    const ids = await insert(...keys.map((key) => message('order', key)));
    expect(new Set(ids)).to.have.length(keys.length);
    await deliverAll(ids);
    const known = await kit.store.read('look', (tx) => knownRecords(tx, 'order', keys));
    for (const key of keys) expect(known.get(key)?.newest?.state, JSON.stringify(key)).to.equal('delivered');
  });

  describe('tells what is due', () => {
    it('one in doubt and a new one in turn, customers before orders, oldest first', async () => {
      const [oldOrder, order, customer, doubtful, doubtfulCustomer] = await insert(
        message('order', '1'),
        message('order', '2'),
        message('customer', 'a'),
        message('order', '3'),
        message('customer', 'b'),
      );
      await set(oldOrder as number, `next_attempt_at=${now - 5}`);
      for (const id of [doubtful, doubtfulCustomer]) await set(id as number, forged.in_doubt);
      const order1 = [doubtfulCustomer, customer, doubtful, oldOrder, order];
      expect(await due()).to.deep.equal(order1);
      expect(await due(3)).to.deep.equal(order1.slice(0, 3));
      // Claimed in the same order, whatever the order of their times.
      const { claimed } = await claim(await due());
      expect(claimed.map(({ id }) => id)).to.deep.equal(order1);
    });

    it('no create in doubt whose key the service may have forgotten, which would be claimed for nothing', async () => {
      const [forgotten, remembered] = (await insert(message('order', '1'), message('order', '2'))) as [number, number];
      await set(forgotten, `${forged.in_doubt}, was_sent=1, first_sent_at=${now - 100}`);
      await set(remembered, `${forged.in_doubt}, was_sent=1, first_sent_at=${now - 99}`);
      const since = now - 99;
      const found = await kit.store.read('look', (tx) =>
        dueMessages(tx, 10, { nowMs: now, scope: all, resends: resendsSince(since) }),
      );
      expect(found.map(({ id }) => id)).to.deep.equal([remembered]);
      const probe = (state: 'in_doubt' | 'pending') =>
        kit.store.read('look', (tx) => probeMessageId(tx, state, 'first', all, resendsSince(since)));
      expect(await probe('in_doubt')).to.equal(remembered);
      expect(await probe('pending')).to.equal(null);
    });

    it('no create in doubt that keeps failing, where the service can be asked for it', async () => {
      const [failing, other] = (await insert(message('order', '1'), message('order', '2'))) as [number, number];
      for (const [id, failures] of [
        [failing, 5],
        [other, 4],
      ] as const)
        await set(id, `state='in_doubt', failures=${failures}, was_sent=1, first_sent_at=${now}`);
      const due = async (lookedUp: readonly Entity[]) => {
        const question = { nowMs: now, scope: all, resends: { sentSinceMs: 0, lookedUp } };
        return (await kit.store.read('look', (tx) => dueMessages(tx, 10, question))).map(({ id }) => id);
      };
      expect(await due(['order'])).to.deep.equal([other]);
      expect(await due(['customer'])).to.have.members([failing, other]);
      const terms = {
        entities: { in_doubt: ['order'], conflict: [] },
        only: null,
        sentBeforeMs: 0,
        limit: 10,
      } as const;
      const taken = await kit.store.transaction('look up', (tx) => claimLookUps(tx, terms, 1, clockAt(now)));
      expect(taken.map(({ id, isForgotten }) => ({ id, isForgotten }))).to.deep.equal([
        { id: failing, isForgotten: false },
      ]);
    });

    it('the one that waits longest or the last untried to probe with, of both entities, also before its time', async () => {
      const [order, customer, last] = (await insert(
        message('order', '1'),
        message('customer', 'a'),
        message('order', '2'),
      )) as [number, number, number];
      await set(customer, `next_attempt_at=${now + 60}`);
      await set(order, `next_attempt_at=${now + 50}`);
      await set(last, `next_attempt_at=${now + 70}`);
      const probe = (which: 'first' | 'last untried') =>
        kit.store.read('look', (tx) => probeMessageId(tx, 'pending', which, all, resendsSince(0)));
      expect([await probe('first'), await probe('last untried')]).to.deep.equal([order, last]);
      // Otherwise the last one would stay the last, whatever became of it.
      await set(last, 'attempts=1');
      expect(await probe('last untried')).to.equal(customer);
      for (const id of [order, customer]) await set(id, 'attempts=1');
      expect(await probe('last untried')).to.equal(order);
    });

    it('not before its time', async () => {
      const [id] = (await insert(message('order', '1'))) as [number];
      await set(id, `next_attempt_at=${now + 50}`);
      expect(await due()).to.deep.equal([]);
      expect(await nextDueAt(kit.store, all)).to.equal(now + 50);
      expect(await due(10, all, now + 50)).to.deep.equal([id]);
    });

    it('no order before its customer is bound', async () => {
      const [customer, order] = (await insert(
        message('customer', 'a'),
        message('order', '1', { customerKey: 'a' }),
      )) as [number, number];
      expect(await due()).to.deep.equal([customer]);
      expect((await claim([order])).claimed).to.deep.equal([]);
      const { claimed } = await claim([customer]);
      expect(await due()).to.deep.equal([]);
      expect(await nextDueAt(kit.store, all)).to.equal(null);
      await settleAll([settled(claimed[0] as ClaimedMessage, delivered('a'))], 1, now);
      expect(await due()).to.deep.equal([order]);
    });

    it('no update before its record is bound, nor while an older revision is open', async () => {
      const [create, second, third] = (await insert(
        message('order', '1'),
        update('order', '1', 2, { customer_code: 'x', items: [], note: 'b' }),
        update('order', '1', 3, { customer_code: 'x', items: [], note: 'c' }),
      )) as [number, number, number];
      expect(await due()).to.deep.equal([create]);
      expect((await claim([second, third])).claimed).to.deep.equal([]);
      await deliverAll([create]);
      expect(await due()).to.deep.equal([second]);
      expect((await claim([third])).claimed).to.deep.equal([]);
      await set(second, forged.in_doubt);
      expect(await due()).to.deep.equal([second]);
      await set(second, forged.parked);
      expect(await due()).to.deep.equal([third]);
    });

    it('no update of a record that was never acknowledged, though nothing older is open', async () => {
      const [create, second] = (await insert(
        message('order', '1'),
        update('order', '1', 2, { customer_code: 'x', items: [] }),
      )) as [number, number];
      await set(create, `${forged.parked}, park_class='conflict'`);
      expect(await due()).to.deep.equal([]);
      expect((await claim([second])).claimed).to.deep.equal([]);
      expect(await nextDueAt(kit.store, all)).to.equal(null);
    });

    it('nothing that is parked, closed or being sent', async () => {
      const ids = await insert(...['1', '2', '3', '4', '5'].map((key) => message('order', key)));
      const states = ['sending', 'delivered', 'parked', 'superseded', 'discarded'];
      for (const [i, id] of ids.entries()) await set(id, forged[states[i] as keyof typeof forged]);
      expect(await due()).to.deep.equal([]);
      expect((await claim(ids)).claimed).to.deep.equal([]);
      expect(await countOpen(kit.store, null)).to.equal(1);
    });

    it('only the records of a limited scope', async () => {
      const [customer, order] = (await insert(
        message('customer', 'a'),
        message('order', 'a'),
        message('order', 'b'),
      )) as [number, number];
      const scope = (entity: 'customer' | 'order', ...keys: string[]) => ({ only: new Map([[entity, new Set(keys)]]) });
      expect(await due(10, scope('order', 'a', 'none'))).to.deep.equal([order]);
      expect(await due(10, scope('customer', 'a', 'b'))).to.deep.equal([customer]);
      expect(await due(10, { only: new Map() })).to.deep.equal([]);
      expect(await nextDueAt(kit.store, { only: new Map() })).to.equal(null);
      expect(await nextDueAt(kit.store, scope('order', 'a'))).to.equal(now);
      expect(await countOpen(kit.store, scope('order', 'a').only)).to.equal(1);
      expect(await countOpen(kit.store, new Map([['order', new Set<string>()]]))).to.equal(0);
      expect(await countOpen(kit.store, null)).to.equal(3);
    });
  });

  it('finds the customers of orders', async () => {
    await insert(
      message('order', '1', { customerKey: 'a' }),
      message('order', '2', { customerKey: 'a' }),
      message('order', '3', { customerKey: 'b' }),
      message('order', '4'),
    );
    expect((await customersOfOrders(kit.store, ['1', '2', '4', '9'])).sort()).to.deep.equal(['a']);
    expect(await customersOfOrders(kit.store, [])).to.deep.equal([]);
  });

  describe('claims', () => {
    it('with the attempt on record before anything is sent, and the bytes as they were frozen', async () => {
      const [id] = (await insert(message('order', '1'))) as [number];
      const { claimed } = await claim([id], 7);
      const one = claimed[0] as ClaimedMessage;
      expect(one).to.deep.include({
        claimedFrom: 'pending',
        attemptNumber: 1,
        operation: 'create',
        boundServiceId: null,
      });
      expect(one.idempotencyKey).to.equal(createKey('test-office', 'order', '1', 0));
      expect(sha256(one.body)).to.equal(one.bodyHash);
      expect(await stateOf(id)).to.deep.include({
        state: 'sending',
        claim_epoch: 7,
        claimed_from: 'pending',
        attempts: 1,
      });
      expect(await kit.rows(attemptsSql)).to.deep.equal([
        {
          id: -id,
          message_id: id,
          purpose: 'create',
          number: 1,
          epoch: 7,
          idempotency_key: one.idempotencyKey,
          body_hash: one.bodyHash,
          intended_at: now,
          started_at: null,
          verdict: null,
          reason: null,
          request_id: null,
        },
      ]);
      expect((await claim([id], 7)).claimed, 'claimed twice').to.deep.equal([]);
    });

    it('an update as what differs from the acknowledged record, frozen from then on', async () => {
      const [create] = (await insert(message('order', '1'))) as [number];
      await deliverAll([create]);
      const wanted = { customer_code: '1', items: [], note: 'new' };
      const [id] = (await insert(update('order', '1', 2, wanted))) as [number];
      const first = (await claim([id])).claimed[0] as ClaimedMessage;
      expect(JSON.parse(first.body)).to.deep.equal({ note: 'new' });
      expect(first.boundServiceId).to.equal('S-1');
      expect(first.idempotencyKey).to.match(/^[0-9a-f-]{36}$/);
      await settleAll([settled(first, { kind: 'in_doubt', reason: legacy('timeout') })], 1, now);
      // Even if the record were acknowledged otherwise by now.
      await write((tx) => tx.run(`UPDATE binding SET acknowledged='{"customer_code":"1","items":[],"note":"new"}'`));
      const again = (await claim([id])).claimed[0] as ClaimedMessage;
      expect(again).to.deep.include({
        claimedFrom: 'in_doubt',
        attemptNumber: 2,
        body: first.body,
        bodyHash: first.bodyHash,
        idempotencyKey: first.idempotencyKey,
      });
    });

    it('no update that would say nothing, and moves its binding on', async () => {
      const [create] = (await insert(message('order', '1'))) as [number];
      await deliverAll([create]);
      const same = update('order', '1', 2, { items: [], customer_code: '1' });
      const [id] = (await insert(same)) as [number];
      await write(async (tx) => {
        const { claimed, nothingToSend } = await claimMessages(tx, [id], claimTerms({ epoch: 1, nowMs: now }));
        expect(claimed).to.deep.equal([]);
        expect(nothingToSend).to.have.length(1);
        await settleNothingToSend(tx, nothingToSend, now);
      });
      expect(await stateOf(id)).to.deep.include({ state: 'superseded', closed_at: now, attempts: 0 });
      expect((await kit.rows('SELECT revision, content_hash, service_id FROM binding'))[0]).to.deep.equal({
        revision: 2,
        content_hash: same.contentHash,
        service_id: 'S-1',
      });
    });

    it('no resend of an acknowledged create whose key the service may have forgotten', async () => {
      const [create] = (await insert(message('order', '1'))) as [number];
      await deliverAll([create]);
      const [young, old] = (await insert(
        message('order', '1', { revision: 2, sentBefore: { wasSent: 1, firstSentAt: now - 1_000 } }),
        message('order', '1', { revision: 3, sentBefore: { wasSent: 1, firstSentAt: now - 1_001 } }),
      )) as [number, number];
      await set(young, forged.discarded);
      const scoped = await claim([old], 1, now, kit.store, 1_000);
      expect(scoped.claimed).to.deep.equal([]);
      expect(scoped.nothingToSend.map(({ id }) => id)).to.deep.equal([old]);
      await set(young, forged.pending);
      expect((await claim([young], 1, now, kit.store, 1_000)).claimed).to.have.length(1);
    });

    it('each message once, when two claim at the same time', async () => {
      const ids = await insert(...Array.from({ length: 200 }, (_, i) => message('order', `${i}`)));
      const claims = await Promise.all(
        Array.from({ length: 4 }, async (_, i) => claim(ids, i + 1, now, await kit.connect())),
      );
      const taken = claims.flatMap(({ claimed }) => claimed.map(({ id }) => id));
      expect(taken.sort((a, b) => a - b)).to.deep.equal(ids);
      expect(await kit.rows('SELECT COUNT(*) AS n, SUM(attempts) AS attempts FROM outbox_message')).to.deep.equal([
        { n: 200, attempts: 200 },
      ]);
    });
  });

  describe('settles', () => {
    const claimOne = async (...messages: NewMessage[]) => {
      const ids = await insert(...messages);
      return (await claim(ids)).claimed;
    };

    it('message, attempt and binding together', async () => {
      const [one] = (await claimOne(message('order', '1'))) as [ClaimedMessage];
      await settleAll([settled(one, delivered('O-1'))], 1, now + 10);
      expect(await stateOf(one.id)).to.deep.include({
        state: 'delivered',
        service_id: 'O-1',
        first_sent_at: now + 1,
        closed_at: now + 10,
        // In the index of what is due it stands by the time of its delivery.
        next_attempt_at: null,
        delivered_at: now + 10,
        duration_ms: 5,
        requests: 1,
        failures: 0,
      });
      expect(await kit.rows('SELECT id FROM attempt'), 'the one that delivered it is its message').to.deep.equal([]);
      const [attempt] = await kit.rows(`SELECT * FROM ${everyAttempt}`);
      expect(attempt).to.deep.include({
        message_id: one.id,
        number: 1,
        epoch: 1,
        idempotency_key: one.idempotencyKey,
        body_hash: one.bodyHash,
        intended_at: now,
        verdict: 'delivered',
        status: 201,
        started_at: now + 1,
        request_id: 'req-1',
        trace_id: null,
      });
      expect((await kit.rows('SELECT * FROM binding'))[0]).to.deep.include({
        entity: 'order',
        source_key: '1',
        service_id: 'O-1',
        revision: 1,
        generation: 0,
        content_hash: one.contentHash,
        acknowledged: one.record,
        acknowledged_at: now + 10,
      });
    });

    it('and tells by their order whether others passed since a 403, whatever the clocks said', async () => {
      const forbidden: Verdict = { kind: 'misconfigured', reason: legacy('HTTP 403') };
      const orders = ['1', '2', '3', '4'].map((key) => message('order', key));
      const { claimed } = await claim(await insert(...orders));
      const [a, b, c, d] = claimed as [ClaimedMessage, ClaimedMessage, ClaimedMessage, ClaimedMessage];
      const of = (one: ClaimedMessage, verdict: Verdict, startedAtMs: number) => {
        const it = settled(one, verdict);
        return { ...it, sent: { ...it.sent, startedAtMs, ...(verdict === forbidden && { status: 403 }) } };
      };
      const passed = () => kit.store.read('look', (tx) => passedSinceForbidden(tx, 'order', 'create'));
      expect(await passed()).to.equal(false);
      await settleAll([of(a, delivered('O-1'), now)], 1, now + 10);
      expect(await passed()).to.equal(true);
      await settleAll([of(b, delivered('O-2'), now + 9_000), of(c, forbidden, now + 3_600_000)], 1, now + 10);
      expect(await passed(), 'what was settled before it').to.equal(false);
      await settleAll([of(d, delivered('O-4'), now)], 1, now + 10);
      expect(await passed()).to.equal(true);
      expect(await kit.store.read('look', (tx) => passedSinceForbidden(tx, 'order', 'update'))).to.equal(false);
    });

    it('what a recovery moved behind a binding since it was claimed, without taking that binding back', async () => {
      const [one] = (await claimOne(message('order', '1'))) as [ClaimedMessage];
      await set(one.id, 'revision=7, generation=2');
      await settleAll([settled(one, delivered('O-1'))], 1, now + 10);
      expect(await kit.rows('SELECT revision, generation FROM binding')).to.deep.equal([
        { revision: 7, generation: 2 },
      ]);
    });

    it('no fields of a record that somebody doubts since it was claimed', async () => {
      const [one] = (await claimOne(message('order', '1'))) as [ClaimedMessage];
      await set(one.id, 'content_hash=NULL');
      await settleAll([settled(one, delivered('O-1'))], 1, now + 10);
      const bound = await kit.rows('SELECT content_hash, acknowledged FROM binding');
      expect(bound).to.deep.equal([{ content_hash: null, acknowledged: null }]);
    });

    it('many with different outcomes in one batch', async () => {
      const claimed = await claimOne(...Array.from({ length: 900 }, (_, i) => message('order', `${i}`)));
      const verdictsOf = (i: number): Verdict[] => [
        delivered(`O-${i}`),
        { kind: 'in_doubt', reason: legacy('a timeout') },
        { kind: 'refused', reason: legacy('no') },
      ];
      const batch = claimed.map((one, i) => settled(one, verdictsOf(i)[i % 3] as Verdict));
      await settleAll(batch, 1, now + 10);
      expect(
        await kit.rows(
          'SELECT state, park_class, COUNT(*) AS n, MIN(failures) AS failures FROM outbox_message GROUP BY state, park_class ORDER BY state',
        ),
      ).to.deep.equal([
        { state: 'delivered', park_class: null, n: 300, failures: 0 },
        { state: 'in_doubt', park_class: null, n: 300, failures: 1 },
        { state: 'parked', park_class: 'refused', n: 300, failures: 0 },
      ]);
      expect(await kit.rows('SELECT COUNT(*) AS n FROM binding')).to.deep.equal([{ n: 300 }]);
    });

    it('nothing under another epoch, nothing twice, and its neighbours all the same', async () => {
      const [one, two, three] = (await claimOne(
        message('order', '1'),
        message('order', '2'),
        message('order', '3'),
      )) as [ClaimedMessage, ClaimedMessage, ClaimedMessage];
      const foreign = await settleAll([settled(one, delivered('O-1'))], 2, now);
      expect(foreign).to.deep.equal([]);
      expect((await stateOf(one.id)).state).to.equal('sending');

      // As after a commit whose acknowledgement was lost: the same batch comes again, with another one.
      await settleAll([settled(one, delivered('O-1'))], 1, now);
      const ids = await settleAll(
        [settled(one, { kind: 'in_doubt', reason: legacy('x') }), settled(two, delivered('O-2'))],
        1,
        now,
      );
      expect(ids.map(({ about }) => about.id)).to.deep.equal([two.id]);
      expect((await stateOf(one.id)).state).to.equal('delivered');
      expect((await stateOf(two.id)).state).to.equal('delivered');

      // An older attempt says nothing about a newer one.
      await set(three.id, 'attempts=2');
      expect((await settleAll([settled(three, delivered('O-3'))], 1, now)).length).to.equal(0);
      expect((await stateOf(three.id)).state).to.equal('sending');
    });
  });

  describe('after a takeover', () => {
    it('calls in doubt what older epochs were sending, and keeps the time of the first try', async () => {
      const [a, b, c] = (await insert(message('order', '1'), message('order', '2'), message('order', '3'))) as [
        number,
        number,
        number,
      ];
      await claim([a, b], 1, now);
      await set(b, `was_sent=1, first_sent_at=${now - 500}`);
      await claim([c], 2, now);
      await write((tx) => endOlderEpochs(tx, 2, now + 100));
      const doubted = await write((tx) => doubtOlderEpochs(tx, 2, clockAt(now + 100)));
      expect(doubted.map(({ id }) => id)).to.have.members([a, b]);
      expect(await stateOf(a)).to.deep.include({ state: 'in_doubt', first_sent_at: now, next_attempt_at: now + 100 });
      expect(await stateOf(b)).to.deep.include({ state: 'in_doubt', first_sent_at: now - 500 });
      const ends = await kit.rows('SELECT id, ended_at, ended_boot_id, ended_boot_ms FROM outbox_message ORDER BY id');
      const [ended, unknown] = [now + 100, null];
      expect(ends.map((row) => row.ended_at)).to.deep.equal([ended, ended, unknown]);
      expect(ends[0]).to.include({ ended_boot_id: 'a', ended_boot_ms: ended });
      expect((await stateOf(c)).state).to.equal('sending');
      expect(await kit.rows('SELECT message_id, verdict FROM attempt ORDER BY message_id')).to.deep.equal([
        { message_id: a, verdict: 'unknown' },
        { message_id: b, verdict: 'unknown' },
      ]);
      expect(await write((tx) => doubtOlderEpochs(tx, 2, clockAt(now + 200)))).to.deep.equal([]);
      expect(await write((tx) => endOlderEpochs(tx, 3, now + 300, [2])), 'of a node at work').to.equal(undefined);
      expect(await kit.rows('SELECT COUNT(*) AS n FROM attempt')).to.deep.equal([{ n: 2 }]);
    });

    it('writes attempts by the clock as it is now, and none for a look-up, which has its own', async () => {
      const [write1, lookUp] = (await insert(message('order', '1'), message('order', '2'))) as [number, number];
      await claim([write1], 1, now);
      await set(lookUp, `${forged.in_doubt}, was_sent=1, first_sent_at=${now - 5_000}`);
      const both = { in_doubt: ['order'], conflict: [] } as const;
      await write((tx) =>
        claimLookUps(tx, { entities: both, only: null, sentBeforeMs: now, limit: 10 }, 1, clockAt(now)),
      );
      const corrections = [{ attemptId: 0, atMs: now + 60_000, forwardMs: 50_000 }];
      await write((tx) => writeStoreInfo(tx, 'clock', JSON.stringify({ corrections })));
      // A second try, of which only the first has an attempt.
      const [again] = (await insert(message('order', '3'))) as [number];
      const [first] = (await claim([again], 1, now)).claimed as [ClaimedMessage];
      await settleAll([settled(first, { kind: 'in_doubt', reason: legacy('timeout') })], 1, now);
      await set(again, 'next_attempt_at=0');
      expect((await claim([again], 1, now + 70_000)).claimed).to.have.length(1);
      expect((await write((tx) => unendedWrites(tx, 1))).sort((a, b) => a - b)).to.deep.equal([write1, again]);
      await write((tx) => endOlderEpochs(tx, 2, now + 90_000));
      expect(
        await kit.rows(
          'SELECT message_id, purpose, number, epoch, verdict, intended_at FROM attempt ORDER BY message_id, number',
        ),
      ).to.deep.equal([
        { message_id: write1, purpose: 'create', number: 1, epoch: 1, verdict: 'unknown', intended_at: now + 50_000 },
        { message_id: lookUp, purpose: 'look_up', number: 1, epoch: 1, verdict: 'unknown', intended_at: now },
        { message_id: again, purpose: 'create', number: 1, epoch: 1, verdict: 'in_doubt', intended_at: now },
        { message_id: again, purpose: 'create', number: 2, epoch: 1, verdict: 'unknown', intended_at: now + 70_000 },
      ]);
      expect(await write((tx) => unendedWrites(tx, 1))).to.deep.equal([]);
    });
  });

  it('parks creates in doubt whose key may be forgotten, and no others', async () => {
    const [old, young, pending] = (await insert(
      message('order', '1'),
      message('order', '2'),
      message('order', '3'),
      message('customer', 'a'),
    )) as [number, number, number];
    await set(old, `${forged.in_doubt}, was_sent=1, first_sent_at=${now - 1001}`);
    await set(young, `${forged.in_doubt}, was_sent=1, first_sent_at=${now - 1000}`);
    // Told to slow down a day ago: nothing took effect.
    await set(pending, `was_sent=1, first_sent_at=${now - 5000}`);
    const parked = await write((tx) => parkForgottenKeys(tx, now - 1000));
    expect(parked).to.deep.equal([{ id: old, entity: 'order', sourceKey: '1' }]);
    expect(await stateOf(old)).to.deep.include({ state: 'parked', park_class: 'unproven' });
    expect((await stateOf(young)).state).to.equal('in_doubt');
    expect((await stateOf(pending)).state).to.equal('pending');
  });

  it('parks no create that was resolved between the look and the write', async () => {
    const [id] = (await insert(message('order', '1'))) as [number];
    await set(id, `${forged.in_doubt}, was_sent=1, first_sent_at=NULL`);
    await write((tx) => {
      const rows: typeof tx.rows = async (...query) => {
        const found = await tx.rows(...query);
        await tx.run(`UPDATE outbox_message SET ${forged.pending}, was_sent=0, first_sent_at=NULL WHERE id=?`, [id]);
        return found;
      };
      return parkForgottenKeys({ ...tx, rows }, now);
    });
    expect(await stateOf(id)).to.include({ state: 'pending', park_class: null, first_sent_at: null });
  });

  describe('when a create is refused', () => {
    const installation = 'test-office';
    for (const [replays, generation] of [
      [false, 0],
      [true, 1],
    ] as const) {
      it(`puts the correction that was waiting behind it in its place (refusals ${replays ? 'are' : 'are not'} replayed)`, async () => {
        const [create] = (await insert(message('order', '1'))) as [number];
        const [waiting] = (await insert(update('order', '1', 2, { customer_code: '1', items: [], note: 'b' }))) as [
          number,
        ];
        await set(create, `${forged.parked}, park_class='refused'`);
        const refused = { id: create, entity: 'order' as const, sourceKey: '1', revision: 1, generation: 0 };
        const promoted = await write((tx) =>
          promoteDependent(
            tx,
            refused,
            { installation, isKeyUsed: replays, removals: [{}, { note: 'CANCELLED' }] },
            now + 5,
          ),
        );
        expect(promoted).to.equal(waiting);
        expect((await stateOf(create)).state).to.equal('superseded');
        expect(await stateOf(waiting)).to.deep.include({
          state: 'pending',
          operation: 'create',
          generation,
          idempotency_key: createKey('test-office', 'order', '1', generation),
        });
        const { claimed } = await claim([waiting]);
        expect(sha256(claimed[0]?.body ?? '')).to.equal(claimed[0]?.bodyHash);
        expect(JSON.parse(claimed[0]?.body ?? '')).to.deep.include({ note: 'b' });
      });
    }

    for (const parkClass of ['held', 'unmapped'] as const)
      it(`makes the create of a correction that is parked as ${parkClass}, and leaves it parked`, async () => {
        const [create] = (await insert(message('order', '1'))) as [number];
        const correction = update('order', '1', 2, { customer_code: '1', items: [], note: 'b' });
        const record = parkClass === 'held' ? correction.record : null;
        const [waiting] = (await insert({ ...correction, record, parked: { parkClass, reason: legacy('why') } })) as [
          number,
        ];
        await set(create, `${forged.parked}, park_class='refused'`);
        const refused = { id: create, entity: 'order' as const, sourceKey: '1', revision: 1, generation: 0 };
        expect(
          await write((tx) => promoteDependent(tx, refused, { installation, isKeyUsed: true, removals: [] }, now)),
        ).to.equal(waiting);
        expect((await stateOf(create)).state).to.equal('superseded');
        expect(await stateOf(waiting)).to.deep.include({
          state: 'parked',
          park_class: parkClass,
          operation: 'create',
          generation: 1,
          idempotency_key: parkClass === 'held' ? createKey('test-office', 'order', '1', 1) : null,
        });
      });

    it('does nothing when none is waiting', async () => {
      const [create] = (await insert(message('order', '1'), message('order', '2'))) as [number];
      const refused = { id: create, entity: 'order' as const, sourceKey: '1', revision: 1, generation: 0 };
      expect(
        await write((tx) => promoteDependent(tx, refused, { installation, isKeyUsed: false, removals: [] }, now)),
      ).to.equal(null);
      expect((await stateOf(create)).state).to.equal('pending');
    });
  });

  describe('supersedes', () => {
    it('what was never sent or is parked, and nothing that may have been sent', async () => {
      const ids = await insert(...['1', '2', '3', '4', '5'].map((key) => message('order', key)));
      const [unsent, sent, sending, doubtful, parked] = ids as [number, number, number, number, number];
      await set(sent, `was_sent=1, first_sent_at=${now}`);
      await set(sending, forged.sending);
      await set(doubtful, `${forged.in_doubt}, was_sent=1, first_sent_at=${now}`);
      await set(parked, `${forged.parked}, was_sent=1, first_sent_at=${now}`);
      expect(await write((tx) => supersedeUnsent(tx, ids, null, now))).to.equal(2);
      const states = await kit.rows('SELECT id, state FROM outbox_message ORDER BY id');
      expect(states.filter(({ state }) => state === 'superseded').map(({ id }) => id)).to.deep.equal([unsent, parked]);
      expect(await write((tx) => supersedeUnsent(tx, [], null, now))).to.equal(0);
    });
  });

  it('knows the newest message and the binding of many records', async () => {
    const [create] = (await insert(message('order', '1'), message('order', '2'))) as [number];
    await deliverAll([create]);
    await insert(update('order', '1', 2, { customer_code: 'x', items: [] }));
    const known = await kit.store.read('look', (tx) => knownRecords(tx, 'order', ['1', '2', '3']));
    expect(known.get('1')?.newest).to.deep.include({
      revision: 2,
      operation: 'update',
      state: 'pending',
      wasSent: 0,
      firstSentAt: null,
    });
    expect(known.get('1')?.binding).to.deep.include({ revision: 1, generation: 0 });
    expect(known.get('2')).to.deep.include({ binding: null });
    expect(known.get('3')).to.deep.equal({ newest: null, createKey: null, binding: null, closed: null });
    expect((await kit.store.read('look', (tx) => knownRecords(tx, 'customer', ['1']))).get('1')?.newest).to.equal(null);
  });

  it('returns the ids of new messages in their order, and keeps what can not be sent without a body', async () => {
    const messages = [
      message('order', 'b'),
      message('customer', 'a'),
      message('order', 'a', {
        record: null,
        idempotencyKey: null,
        parked: { parkClass: 'unmapped', reason: legacy('r'.repeat(2000)) },
      }),
    ];
    const ids = await insert(...messages);
    const rows = await kit.rows('SELECT id, entity, source_key, state, reason_code, reason_data FROM outbox_message');
    for (const [i, id] of ids.entries()) {
      const row = rows.find((one) => one.id === id);
      expect(row).to.deep.include({ entity: messages[i]?.entity, source_key: messages[i]?.sourceKey });
    }
    const parked = rows.find((row) => row.id === ids[2]);
    expect(parked).to.deep.include({ state: 'parked', reason: `${'r'.repeat(999)}…` });
    expect(await kit.rows('SELECT COUNT(*) AS n FROM message_body')).to.deep.equal([{ n: 2 }]);
    expect(await insert()).to.deep.equal([]);
  });

  it('finds a message by what its reason says, in capitals or not, also beside letters that ASCII lacks', async () => {
    await insert(message('order', 'a', { parked: { parkClass: 'unmapped', reason: legacy('GRÖSSE: no Number') } }));
    const found = async (text: string) =>
      kit.store.read('list', async (tx) => (await listMessages(tx, { isReason: says(text) }, 10)).length);
    expect(await found('GRÖSSE')).to.equal(1);
    expect(await found('NO number')).to.equal(1);
    expect(await found('no_number')).to.equal(0);
  });
});

onServers('the outbox', (kit) => {
  it('lets nobody claim a message while capture decides about its successor', async () => {
    const body = JSON.stringify({ customer_code: '1', items: [] });
    const message: NewMessage = {
      entity: 'order',
      sourceKey: '1',
      revision: 1,
      operation: 'create',
      generation: 0,
      number: null,
      customerKey: null,
      contentHash: sha256(body),
      mappingFingerprint: sha256('mapping'),
      record: body,
      idempotencyKey: createKey('test-office', 'order', '1', 0),
      parked: null,
    };
    const ids = await kit.store.transaction('insert', (tx) => insertMessages(tx, [message], now));
    const deliverer = await kit.connect();
    const claim = () =>
      deliverer.transaction('claim', (tx) => claimMessages(tx, ids, claimTerms({ epoch: 1, nowMs: now })));

    const superseded = await kit.store.transaction('capture', async (tx) => {
      const known = await knownRecords(tx, 'order', ['1'], true);
      expect(known.get('1')?.newest?.state).to.equal('pending');
      expect((await claim()).claimed).to.deep.equal([]);
      return supersedeUnsent(tx, ids, null, now);
    });
    expect(superseded).to.equal(1);
    expect((await claim()).claimed).to.deep.equal([]);
  });
});
