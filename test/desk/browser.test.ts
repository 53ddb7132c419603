import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Browser as Chromium, Page } from 'playwright-core';
import type { Desk } from '../../src/desk/desk.js';
import { isFullMatrix, onAnyStore } from '../store/stores.js';
import { type Lab, useLab } from '../support/jobs/job-lab.js';
import { fillDesk, openChromium, signInWith } from './desk-browser.js';
import { deskSettings, openDesk } from './desk-client.js';

const axe: { source: string } = createRequire(import.meta.url)('axe-core');
/** Name, page and theme of each picture. */
const shots = [
  ['overview', '', 'light'],
  ['needs-a-person', 'needs-a-person', 'light'],
  ['record', 'order/9005', 'dark'],
  ['values', 'VALUES', 'light'],
  ['find', '?q=1', 'light'],
  ['outbox', 'outbox?state=parked', 'light'],
  ['action', 'act?action=discard&state=parked&entity=order', 'light'],
  ['invoices', 'invoices', 'light'],
  ['reconcile', 'reconcile', 'light'],
  ['audit', 'audit', 'dark'],
  ['webhooks', 'webhooks', 'light'],
  ['settings', 'settings', 'dark'],
] as const;

type Violation = { id: string; help: string; nodes: { html: string; failureSummary: string }[] };

onAnyStore('the desk in a browser', (kit) => {
  // Pages look alike on all databases.
  if (kit.dialect !== 'sqlite') return;
  const labs = useLab(kit);
  let chrome: Chromium;
  let lab: Lab;
  let desk: Desk;
  let page: Page;

  before(async function () {
    this.timeout(300_000);
    try {
      chrome = await openChromium();
    } catch (error) {
      console.error(error instanceof Error ? error.message : error);
      this.skip();
    }
  });
  after(() => chrome?.close());
  beforeEach(async () => {
    lab = await labs.start({ customers: 6, orders: 12, settings: await deskSettings(kit.folder) });
    await fillDesk(lab);
    desk = await openDesk(lab);
    page = await signInWith(chrome, desk.url, 'anna');
  });
  afterEach(async () => {
    await page.context().close();
    await desk.close();
  });

  const open = async (path: string) => {
    const answer = await page.goto(desk.url + path);
    expect(answer?.status(), path).to.be.oneOf([200, 404]);
  };
  /** The faults that axe finds on the page, in both themes. */
  async function violations(): Promise<string[]> {
    const found: string[] = [];
    // Through the debugger: the policy of the page lets no script in.
    await page.evaluate(axe.source);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      // Only the colours differ.
      const rules = colorScheme === 'light' ? '' : ", { runOnly: ['color-contrast'] }";
      const run = (await page.evaluate(`axe.run(document${rules})`)) as { violations: Violation[] };
      for (const { id, help, nodes } of run.violations)
        found.push(`${colorScheme} ${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`);
    }
    return found;
  }

  it('is accessible on every page, in both themes, and as wide as its window', async function () {
    this.timeout(180_000);
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    await open('act?action=retry&class=refused&cause=HTTP%2520%2523');
    const preview = page.url().slice(desk.url.length);
    // Others in the full matrix: they differ from one of these by their rows alone.
    const more = ['?range=week', '?q=SO-2041', 'customer/unknown', 'outbox?state=parked&entity=order'];
    const paths = [
      ...(isFullMatrix ? more : []),
      '',
      '?q=1',
      '?q=nothing',
      'order/9005',
      'customer/1',
      'needs-a-person',
      'outbox',
      'invoices',
      'reconcile',
      'audit',
      'webhooks',
      'settings',
      'act?action=discard&state=parked&entity=order',
      preview,
      'nothing-here',
    ];
    const wrong: string[] = [];
    for (const path of paths) {
      await open(path);
      wrong.push(...(await violations()).map((one) => `${path}: ${one}`));
      await page.setViewportSize({ width: 390, height: 844 });
      const tooWide = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
      if (Number(tooWide) > 0) wrong.push(`${path}: ${tooWide} px wider than a phone`);
      await page.setViewportSize({ width: 1440, height: 900 });
    }
    await page.context().clearCookies();
    await open('sign-in');
    wrong.push(...(await violations()).map((one) => `sign-in: ${one}`));
    expect(wrong).to.deep.equal([]);
    expect(errors.filter((text) => !text.includes('404'))).to.deep.equal([]);
  });

  // `npm run screenshots` renews the pictures in docs.
  const pictures = process.env.DESK_SCREENSHOTS;
  if (pictures !== undefined)
    it('has its pictures taken', async function () {
      this.timeout(120_000);
      // `DESK_SCREENSHOTS_ALL=1`: in both themes, from a phone to a wide screen, to look at after a change of style.
      const [{ sourceKey }] = await kit.rows('SELECT source_key AS "sourceKey" FROM binding WHERE entity=\'order\'');
      await lab.changeErp('UPDATE sales_order_lines SET qty=qty+7 WHERE order_id=?', [sourceKey]);
      const takesAll = process.env.DESK_SCREENSHOTS_ALL !== undefined;
      const wanted = shots.flatMap(([name, path, own]) => {
        if (!takesAll) return [{ name, path, colorScheme: own, width: 1200 }];
        return (['light', 'dark'] as const).flatMap((colorScheme) =>
          [390, 768, 1440].map((width) => ({ name: `${name}-${colorScheme}-${width}`, path, colorScheme, width })),
        );
      });
      const values = `order/${sourceKey}?erp=now${takesAll ? '' : '#values'}`;
      for (const { name, path, colorScheme, width } of wanted) {
        await page.setViewportSize({ width, height: width === 390 ? 844 : 750 });
        await page.emulateMedia({ colorScheme });
        await open(path === 'VALUES' ? values : path);
        await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: takesAll });
      }
    });

  it('leads a person from what waits to a group of it, its preview, and what came of it', async () => {
    await page.getByRole('link', { name: 'See why' }).click();
    const group = page
      .getByRole('region', { name: /unknown sku/ })
      .or(page.locator('section.group', { hasText: 'unknown sku' }));
    await group.first().getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Nothing is done yet').waitFor();
    expect(await page.getByRole('row').count()).to.equal(1 + 4);
    await page.getByLabel('Why? The audit keeps it.').fill('the sku was added');
    await page.getByRole('button', { name: 'Try again now: 4 messages' }).click();
    await page.getByRole('heading', { name: 'Will be tried again now' }).waitFor();
    const states = await kit.rows("SELECT COUNT(*) AS n FROM outbox_message WHERE state='pending'");
    expect(states).to.deep.equal([{ n: 4 }]);
  });

  it('acts on the filter of the outbox as it was set, by keyboard alone', async () => {
    await open('outbox');
    await page.getByLabel('State').selectOption('parked');
    await page.getByLabel('Reason contains').fill('blocked');
    await page.keyboard.press('Enter');
    await page.getByText('1 message matches.').waitFor();
    await page.getByRole('button', { name: 'Discard' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Why? The audit keeps it.').focus();
    await page.keyboard.type('a test order');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Discarded' }).waitFor();
    expect(await kit.rows("SELECT number FROM outbox_message WHERE state='discarded'")).to.deep.equal([
      { number: 'SO-2051' },
    ]);
  });

  it('says how much has happened since the page was made, and when the daemon answers no more', async () => {
    await page.getByText('Nothing has happened since.').waitFor();
    await (await signInWith(chrome, desk.url, 'rita')).context().close();
    await page.getByText('+1 new in the audit since').waitFor();
    expect(await page.getByRole('link', { name: 'Show it' }).count()).to.equal(1);
    await desk.close();
    await page.getByText('Connection lost. This page is as of').waitFor();
  });

  it('draws its figures where scripts run, and has them as a table for all', async () => {
    await page.locator('.plot canvas').nth(3).waitFor();
    const figures = page.getByText('These figures as a table');
    await figures.click();
    expect(await page.locator('#figures tbody tr').count()).to.be.within(96, 97);
    const shown = await page.locator('#figures tbody tr').nth(1).locator('td').nth(1).textContent();
    await page
      .locator('.chart .u-over')
      .first()
      .hover({ position: { x: 5, y: 5 } });
    expect(Number(await page.locator('.chart output').first().textContent())).to.be.a('number');
    expect(Number(shown)).to.be.a('number');
    await page.getByRole('link', { name: '90 days' }).click();
    await page.getByText('In the last 90 days:').waitFor();
    const plain = await chrome.newContext({
      javaScriptEnabled: false,
      storageState: await page.context().storageState(),
    });
    const read = await plain.newPage();
    await read.goto(`${desk.url}?range=hour`);
    expect(await read.locator('figure').first().isVisible()).to.equal(false);
    expect(await read.locator('#figures tbody tr').count()).to.equal(60);
    await plain.close();
  });

  it('is as wide as its window even before its charts are drawn anew', async () => {
    await page.locator('.plot canvas').nth(3).waitFor();
    await page.evaluate("for (const one of document.querySelectorAll('.plot > *')) one.style.minWidth = '1400px'");
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')).to.equal(0);
    await page.waitForFunction(
      "[...document.querySelectorAll('.plot canvas')].every(({ clientWidth }) => clientWidth < 390)",
    );
  });

  it('finds a record from any page, and shows nothing to act with to who may only look', async () => {
    const rita = await signInWith(chrome, desk.url, 'rita');
    await rita.getByRole('searchbox').fill('SO-2060');
    await rita.keyboard.press('Enter');
    await rita.getByRole('heading', { level: 1, name: 'Order SO-2060' }).waitFor();
    expect(await rita.getByRole('heading', { name: 'Act' }).count()).to.equal(0);
    await page.goto(rita.url());
    expect(await page.getByRole('heading', { name: 'Act' }).count()).to.equal(1);
    await rita.context().close();
  });
});
