import { type Browser as Chromium, chromium, type Page } from 'playwright-core';
import { legacy } from '../../src/model/facts/fact.js';
import { emptyBucket, spanEndsS } from '../../src/operator/figures/series.js';
import type { ParkClass } from '../../src/outbound/outbox/message.js';
import { insertMessages } from '../../src/outbound/outbox/new-messages.js';
import { pauseLane } from '../../src/store/lane-pauses.js';
import { upsertRows } from '../../src/store/rows.js';
import { findExecutable } from '../support/find-executable.js';
import type { Lab } from '../support/jobs/job-lab.js';
import { ensure } from '../support/needed-programs.js';
import { password } from './desk-client.js';

/** Starts Chromium without a screen. Its own sandbox needs more rights than a container gives. */
export function openChromium(): Promise<Chromium> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'];
  ensure('chromium');
  return chromium.launch({ executablePath: findExecutable('chromium') as string, args });
}

/** A page whose person has signed in by the form. */
export async function signInWith(chrome: Chromium, url: string, name: string): Promise<Page> {
  const page = await (await chrome.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  await page.goto(url);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  return page;
}

const parked: readonly [key: string, parkClass: ParkClass, reason: string][] = [
  ...['SO-2041', 'SO-2042', 'SO-2043', 'SO-2044'].map((number): [string, ParkClass, string] => [
    number,
    'refused',
    `HTTP 422: order ${number}: unknown sku "BOLT-M8"`,
  ]),
  ['SO-2051', 'refused', 'HTTP 422: order SO-2051: customer C0007 is blocked'],
  ['SO-2060', 'unproven', 'No answer within 30 s at the last try, and the key may be forgotten'],
  ['SO-2070', 'conflict', 'HTTP 409: the key was used with other bytes'],
  ['SO-2080', 'held', 'A pass would have changed 12 of 40 orders (capture.hold)'],
];

/** Figures of a working day, minute by minute, and of a week: quiet at night, and an outage in between. */
function figuresUpTo(nowMs: number) {
  const bucketsOf = (width: 'minute' | 'hour', ms: number, count: number, perBucket: number) =>
    Array.from({ length: count }, (_, nth) => {
      const at = nowMs - (nowMs % ms) - nth * ms;
      const hour = new Date(at).getUTCHours() + new Date(at).getUTCMinutes() / 60;
      const isOut = nth > count * 0.3 && nth < count * 0.34;
      const daily = Math.max(0, Math.sin(((hour - 6) / 12) * Math.PI)) + 0.05;
      const delivered = isOut ? 0 : Math.round(perBucket * daily * (1 + 0.3 * Math.sin(nth * 1.7)));
      const within = new Map([
        [2, Math.round(delivered * 0.8)],
        [15, delivered],
      ]);
      const spans = spanEndsS.map((end) => within.get(end) ?? 0);
      const waiting = isOut ? Math.round((count * 0.34 - nth) * perBucket * 0.4) : Math.round(4 * daily);
      const { spans: none, ...rest } = emptyBucket(at);
      return {
        width,
        ...rest,
        delivered,
        notDelivered: isOut ? 2 : Number(nth % 41 === 0),
        requests: delivered + 3,
        spans: [...spans, none[0] ?? 0].join(','),
        waiting,
        oldestS: isOut ? Math.round(((count * 0.34 - nth) * ms) / 1_000) : Math.round(20 * daily),
      };
    });
  return [...bucketsOf('minute', 60_000, 1_440, 12), ...bucketsOf('hour', 3_600_000, 168, 700)];
}

/**
 * The pages of a desk on a day on which something of everything has happened. Its clock stands from then on: figures
 * are of whole minutes.
 */
export async function fillDesk(lab: Lab): Promise<void> {
  const { store } = lab.context;
  await lab.capture();
  await lab.deliver();
  await lab.pull();
  const nowMs = lab.context.nowMs();
  lab.context.nowMs = () => nowMs;
  const messages = parked.map(([number, parkClass, reason], nth) => ({
    entity: 'order' as const,
    sourceKey: String(9_000 + nth),
    revision: 1,
    operation: 'create' as const,
    generation: 0,
    number,
    customerKey: null,
    contentHash: 'h',
    mappingFingerprint: 'm',
    record: JSON.stringify({ items: [{ sku: 'BOLT-M8', qty: 40 + nth, price: 1_275 }] }),
    idempotencyKey: null,
    parked: { parkClass, reason: legacy(reason) },
  }));
  await store.transaction('fill the desk', async (tx) => {
    await insertMessages(tx, messages, nowMs - 5_400_000);
    await upsertRows(tx, 'figure', ['width', 'at'], figuresUpTo(nowMs));
    await pauseLane(tx, {
      lane: 'pull',
      cause: 'operator',
      until_at: null,
      reason: legacy('the service counts its invoices anew'),
      actor: 'anna (desk)',
      since_at: nowMs - 1_800_000,
    });
    await tx.run("UPDATE lease SET holder='daemon@erp-server:812', expires_at=? WHERE name='service'", [
      nowMs + 3_600_000,
    ]);
    await tx.run(
      "INSERT INTO webhook_event (event_id, type, about, subject, state, outcome_code, outcome_data, received_at) VALUES ('evt_1','invoice.paid','invoice','INV-7','done','invoice_had_left','{\"state\":{\"outside\":\"paid\"}}',?)",
      [nowMs - 60_000],
    );
    await tx.run("INSERT INTO webhook_tally (name, number, last_at) VALUES ('stored', 1, ?), ('forged', 2, ?)", [
      nowMs - 60_000,
      nowMs - 90_000,
    ]);
  });
}
