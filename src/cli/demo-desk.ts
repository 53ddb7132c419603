import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openApp } from '../app.js';
import { runSchedule } from '../daemon/schedule.js';
import { hashPassword } from '../desk/people.js';
import { type SampleErpTarget, withSampleErp } from '../lab/sample-erp/create-sample-erp.js';
import type { FaultInput } from '../lab/sandbox/fault-plan.js';
import type { Sandbox } from '../lab/sandbox/start-sandbox.js';
import { writeWholeFile } from '../store/whole-file.js';
import { openDesk } from './daemon.js';
import { type DemoOptions, demoLab } from './demo-lab.js';
import { Output } from './terminal/output.js';

/** Orders that no setting makes sendable, so that the desk has something for a person. */
const bad = { ordersWithoutLines: 2, totalMismatches: 2, missingCustomers: 1 };

const posts = { method: 'POST', path: '/v1/orders' };
const unknownSku = { error: { code: 'unknown_sku', message: 'unknown sku: it was taken out of the catalogue' } };

/** The answers of the service that go wrong: refusals, lost answers, and a total of another amount. */
const incidents: readonly FaultInput[] = [
  { kind: 'status', status: 422, body: unknownSku, match: { ...posts, nth: [7, 23, 61, 95, 140] } },
  { kind: 'reset-after-commit', match: { ...posts, nth: [11, 52, 117] } },
  { kind: 'wrong-total', match: { ...posts, nth: [31, 88] } },
];

const orderEveryMs = 3_000;
const awayEveryMs = 60_000;
const awayMs = 12_000;

/** Runs the daemon with its desk on made-up data until the signal: orders come in, and the service is away now and then. */
export async function runDeskDemo(folder: string, options: DemoOptions, signal: AbortSignal): Promise<void> {
  const output = new Output(options);
  const password = randomBytes(9).toString('base64url');
  const usersFile = join(folder, 'desk-users');
  const line = `demo:act:${await hashPassword(password)}\n`;
  await writeWholeFile(usersFile, (handle) => handle.writeFile(line));
  const { sandbox, settings, erp } = await demoLab(folder, options, {
    bad,
    desk: { enabled: true, port: 0, usersFile },
    schedule: { capture: '*/2 * * * * *', pull: '*/20 * * * * *' },
  });
  sandbox.setFaults(incidents);
  const app = await openApp({ settings, role: 'demo', log: 'stderr' });
  // The incidents are for the desk, not for the terminal.
  app.log.silent = true;
  const desk = await openDesk(app);
  try {
    if (desk === null) throw new Error('The desk could not be opened: see docs/desk.md.');
    const sign = { url: desk.url, user: 'demo', password };
    output.json(sign);
    output.lines(
      `The desk: ${sign.url}`,
      `Sign in as ${sign.user} with the password ${password}`,
      '',
      'It shows made-up data. A new order comes every few seconds, some orders need a person, and the service is away for',
      'a while each minute. Ctrl-C ends it and removes everything.',
    );
    const partners = {
      reader: await app.reader(),
      client: await app.client(),
      writer: await app.writer(),
      tell: null,
      webhooks: new EventEmitter(),
    };
    await Promise.all([
      runSchedule(app.context, partners, signal),
      enterOrders(erp, signal),
      goAwayNowAndThen(sandbox, signal),
    ]);
  } finally {
    await desk?.close();
    await app.close();
    await sandbox.close();
  }
}

/** As clerks would: copies of the newest order, under new numbers. */
async function enterOrders(erp: SampleErpTarget, signal: AbortSignal): Promise<void> {
  while (await passes(orderEveryMs, signal))
    await withSampleErp(erp, async (database) => {
      const from = Number(await database.value("SELECT MAX(id) FROM sales_orders WHERE status='confirmed'"));
      const id = Number(await database.value('SELECT MAX(id) FROM sales_orders')) + 1;
      const now = new Date().toLocaleString('sv-SE', { timeZone: 'Europe/Berlin' });
      await database.run(
        `INSERT INTO sales_orders SELECT ?, ?, customer_id, status, ?, currency, total, remark, ?, ?
           FROM sales_orders WHERE id=?`,
        [id, `A-${now.slice(0, 4)}-${String(id).padStart(6, '0')}`, now.slice(0, 10), now, now, from],
      );
      await database.run(
        `INSERT INTO sales_order_lines SELECT (SELECT MAX(id) FROM sales_order_lines) + line_no, ?, line_no, product_id,
           qty, unit_price FROM sales_order_lines WHERE order_id=?`,
        [id, from],
      );
    });
}

async function goAwayNowAndThen(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  while (await passes(awayEveryMs, signal)) {
    await sandbox.goDown();
    await passes(awayMs, signal);
    await sandbox.comeBack();
  }
}

/** False if the signal came first. */
function passes(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, true, { signal }).catch(() => false);
}
