import { expect } from 'chai';
import { checkStatus } from '../../src/daemon/check-status.js';
import { readStatus } from '../../src/daemon/read-status.js';
import { describeStatus } from '../../src/daemon/status-lines.js';
import { lookAfterAlerts } from '../../src/daemon/tell-alerts.js';
import type { Desk } from '../../src/desk/desk.js';
import { tellForgeries } from '../../src/inbound/webhooks/receive-webhooks.js';
import { legacy } from '../../src/model/facts/fact.js';
import { timeFormatter } from '../../src/operator/format.js';
import { insertAdoptions } from '../../src/outbound/outbox/adoptions.js';
import { recordFailure } from '../../src/store/job-runs.js';
import { onAnyStore } from '../store/stores.js';
import { explained } from '../support/explained.js';
import { forged } from '../support/forged.js';
import { type Lab, type LabOptions, useLab, withServiceLease } from '../support/jobs/job-lab.js';
import { Browser, deskSettings, openDesk } from './desk-client.js';
import { park } from './parked-message.js';

interface Situation {
  name: string;
  options?: LabOptions;
  arrange(lab: Lab): Promise<unknown>;
  /** The text of the first order's page and of `explain`: the events, and the next step. */
  record?: readonly [happened: RegExp, next: RegExp];
  /** The text of the overview and of `status`. */
  status: RegExp;
}

const order = { path: '/v1/orders' };
const change = (lab: Lab, sql: string) => lab.context.store.transaction('arrange', (tx) => tx.run(sql));
const both = async (lab: Lab) => {
  await lab.capture({ sweep: true });
  await lab.deliver({ retryHorizonMs: 0 });
};
const fault = (given: object): LabOptions => ({ sandbox: { faults: [given as never] } });

/** The first pages that a newcomer meets. The words come from one place each; here they are read where people read them. */
const situations: Situation[] = [
  {
    name: 'the service does not know the customer',
    options: fault({ kind: 'status', status: 422, match: order, body: { message: 'unknown customer C0001' } }),
    arrange: both,
    record: [/refused: the service said no; nothing took effect.*unknown customer C0001/s, /outbox retry/],
    status: /1 parked \(1 refused\)/,
  },
  {
    name: 'prices are sent in another unit than the service takes them',
    options: fault({ kind: 'wrong-total', by: 99_000, match: order }),
    arrange: both,
    record: [/A person should look at it: .*total/s, /Compare the record ord_\w+ at the service with the ERP/],
    status: /1 were delivered, but a person should look/,
  },
  {
    name: 'the service is down',
    options: fault({ kind: 'status', status: 503, match: order }),
    arrange: both,
    record: [/May have reached the service.*HTTP 503/s, /the next delivery sends it.*waybill sync deliver/s],
    status: /Oldest in doubt/,
  },
  {
    name: 'the limit of the service is hit',
    options: fault({ kind: 'status', status: 429, headers: { 'retry-after': '600' } }),
    arrange: both,
    record: [/paused \(throttled\) since .*HTTP 429/, /until \d{4}-\d\d-\d\d \d\d:\d\d/],
    status: /service \(throttled\) since .*, until \d{4}-.*HTTP 429/,
  },
  {
    name: 'the token has expired',
    options: fault({ kind: 'status', status: 401 }),
    arrange: both,
    record: [
      /paused \(credential\) since .*HTTP 401/,
      /Replace the credential: a new file is tried.*waybill resume service/s,
    ],
    status: /Everything that talks to the service is paused \(credential\): HTTP 401/,
  },
  {
    name: 'the ERP cannot be reached',
    arrange: async (lab) => {
      for (let n = 0; n < 5; n++)
        await lab.context.store.transaction('fail', (tx) =>
          recordFailure(tx, 'capture', legacy('The ERP can not be reached: connect ECONNREFUSED'), Date.now()),
        );
      await withServiceLease(lab.context, (lease) =>
        lookAfterAlerts(lab.context, lease.lease, null, new AbortController().signal),
      );
    },
    status: /The ERP can not be reached: connect ECONNREFUSED/,
  },
  {
    name: 'the service may have forgotten the key',
    options: fault({ kind: 'hang', match: order }),
    arrange: async (lab) => {
      await lab.capture();
      await change(
        lab,
        `UPDATE outbox_message SET ${forged.in_doubt}, attempts=1, was_sent=1, first_sent_at=${Date.now() - 90 * 3_600_000} WHERE entity='order'`,
      );
    },
    record: [/May have reached the service.*may have forgotten its key/s, /looked up there or parked for a person/],
    status: /Oldest in doubt/,
  },
  {
    name: 'the total at the service is another one',
    options: fault({ kind: 'wrong-total', by: 1, match: order }),
    arrange: both,
    record: [/has a total of (\d+), and the lines add up to/, /Compare the record ord_\w+ at the service/],
    status: /1 were delivered, but a person should look/,
  },
  {
    name: 'an order waits for its customer',
    options: fault({ kind: 'status', status: 422, match: { path: '/v1/customers' }, body: { message: 'no e-mail' } }),
    arrange: both,
    record: [/It waits for its customer \w+, which is parked .*no e-mail/s, /waybill explain customer/],
    status: /1 parked \(1 refused\)/,
  },
  {
    name: 'an order was edited while it waited',
    arrange: async (lab) => {
      await lab.capture();
      await change(lab, `UPDATE outbox_message SET ${forged.superseded}, closed_at=1 WHERE entity='order'`);
      await change(
        lab,
        `INSERT INTO outbox_message (entity, source_key, revision, operation, generation, folded_key, number, customer_key,
           content_hash, mapping_fingerprint, state, next_attempt_at, captured_at)
         SELECT entity, source_key, 2, 'create', 0, folded_key, number, NULL, 'h2', mapping_fingerprint, 'pending', 0, captured_at
           FROM outbox_message WHERE entity='order'`,
      );
    },
    record: [/Waiting to be sent.*It is due now/s, /waybill sync deliver/],
    status: /Oldest waiting/,
  },
  {
    name: 'an order was cancelled before it was sent',
    arrange: async (lab) => {
      await lab.capture();
      await change(
        lab,
        `UPDATE outbox_message SET ${forged.superseded}, reason_code='legacy', reason_data='{"text":{"outside":"Cancelled in the ERP before it was sent"}}', closed_at=1 WHERE entity='order'`,
      );
    },
    record: [/Not sent, and not to be sent/, /Cancelled in the ERP before it was sent/],
    status: /nothing is delivered: no daemon is running(?!; )/,
  },
  {
    name: 'somebody sends forged webhooks',
    arrange: (lab) => lab.context.store.transaction('tell', (tx) => tellForgeries(tx, 'begun', Date.now())),
    status: /They changed nothing. Either somebody forges them, or the secret was changed at the service/,
  },
  {
    name: 'changes are on hold',
    arrange: (lab) =>
      park(lab, '1', 'a pass would have changed 12 of 40 orders', {
        parked: { parkClass: 'held', reason: legacy('a pass would have changed 12 of 40 orders') },
      }),
    record: [/on hold until a person has looked; nothing was sent.*12 of 40/s, /waybill confirm --dry-run/],
    status: /1 change waits for a person.*waybill confirm --dry-run/s,
  },
  {
    name: 'a record was there already, with other values',
    arrange: async (lab) => {
      await lab.capture();
      const [row] = await lab.context.store.read('one', (tx) =>
        tx.rows("SELECT source_key FROM outbox_message WHERE entity='order' ORDER BY id LIMIT 1"),
      );
      await lab.context.store.transaction('adopt', (tx) =>
        insertAdoptions(
          tx,
          [
            {
              entity: 'order',
              sourceKey: row.sourceKey,
              serviceId: 'ord_old',
              from: 'look_up',
              actor: 'test',
              differs: ['note'],
            },
          ],
          Date.now(),
        ),
      );
    },
    record: [/The service had ord_old already.*It differed in note; not reviewed yet/s, /reviewed/],
    status: /1 differ and wait for a person: waybill bindings adopted --open/,
  },
  {
    name: 'it is quiet hours',
    options: { settings: { schedule: { quietHours: [{ from: '00:00', to: '23:59', lanes: ['deliver'] }] } } },
    arrange: (lab) => lab.capture(),
    record: [/Delivery is paused \(quiet\) since .*schedule\.quietHours/, /until \d{4}-\d\d-\d\d \d\d:\d\d/],
    status: /deliver \(quiet\) since .*, until \d{4}-.*schedule\.quietHours/,
  },
];

const unescaped = (html: string) =>
  html
    .replace(/<[^>]+>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');

onAnyStore('to a newcomer the desk, explain and status say what happened and what to do, when', (kit) => {
  if (kit.dialect !== 'sqlite') return;
  const labs = useLab(kit);
  let desk: Desk;
  afterEach(() => desk?.close());

  for (const { name, options = {}, arrange, record, status } of situations)
    it(name, async () => {
      const settings = { ...(await deskSettings(kit.folder)), ...options.settings };
      const lab = await labs.start({ customers: 1, orders: 1, ...options, settings });
      await arrange(lab);
      desk = await openDesk(lab);
      const rita = new Browser(desk.url);
      await rita.signIn('rita');
      const { context } = lab;
      const time = timeFormatter(lab.settings.erp.timeZone);
      const erpIdentity = lab.reader.identity();
      const nowMs = context.nowMs();

      const found = await context.store.read('status', (tx) => readStatus(tx, lab.settings, erpIdentity, nowMs));
      const lines = describeStatus(found, { settings: lab.settings, nowMs, time });
      const statusWords = [checkStatus(found).text, ...lines.flatMap((row) => row.filter(Boolean))].join('\n');
      expect(statusWords, `status: ${statusWords}`).to.match(status);
      expect(unescaped((await rita.open()).body), 'the overview').to.match(status);

      if (record === undefined) return;
      const [row] = await kit.rows("SELECT source_key FROM outbox_message WHERE entity='order' ORDER BY id LIMIT 1");
      const name = { entity: 'order', sourceKey: row.source_key, erpIdentity } as const;
      const { words } = await explained(context, name, time);
      const said = [words.where, ...words.why, ...words.todo.flatMap((one) => [one.text, one.command])].join('\n');
      const page = unescaped((await rita.open(`order/${row.source_key}`)).body);
      for (const pattern of record) {
        expect(said, `explain: ${said}`).to.match(pattern);
        expect(page, 'the page of the record').to.match(pattern);
      }
    });
});
