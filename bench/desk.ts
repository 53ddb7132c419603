import { openChromium } from '../test/desk/desk-browser.js';
import { fillStore, pathsOf } from '../test/desk/filled-store.js';
import { withBenchLab } from './bench-lab.js';
import { benchToken, deskSettings, openPages } from './drain/open-pages.js';
import { Servers } from './servers.js';

export interface DeskOptions {
  store: 'sqlite' | 'mariadb' | 'postgres';
  /** Messages in the store, and as many lines of the audit; a million at most. */
  messages: number;
}

export interface PageTime {
  path: string;
  /** Until the whole page was there; the middle one of five. */
  serverMs: number;
  /** Until Chromium showed the first of it; only of pages that people stay at. */
  firstContentMs?: number;
}

const looks = 5;
const withFirstContent = new Set(['', 'needs-a-person', 'outbox', 'invoices', 'audit', 'webhooks']);

/** Measures the time of each page of the desk over a store of several years. */
export async function desk({ store, messages }: DeskOptions): Promise<PageTime[]> {
  await using servers = new Servers();
  const place = await servers.placeFor(`waybill-${store}`);
  const type = store === 'mariadb' ? 'mysql' : store;
  const { host, port, database, user, password } = place?.database ?? {};
  const lab = {
    installation: 'bench-desk',
    orders: 1,
    sandbox: {},
    limits: [{ requests: 50, perSeconds: 1 }],
    settings: (folder: string) => ({
      desk: deskSettings(folder),
      ...(place && { store: { type, witnessFile: `${folder}/witness.json`, host, port, database, user, password } }),
    }),
  };
  return await withBenchLab(lab, async ({ app }) => {
    await fillStore(app.store, messages);
    await place?.vacuum?.();
    const desk = await openPages(app, 0);
    const chrome = await openChromium();
    try {
      const headers = { authorization: `Bearer ${benchToken}`, accept: 'text/html' };
      const page = await (await chrome.newContext({ extraHTTPHeaders: headers })).newPage();
      const times: PageTime[] = [];
      for (const path of pathsOf(messages)) {
        const tries: number[] = [];
        for (let look = 0; look < looks; look++) {
          const begun = performance.now();
          const answer = await fetch(desk.url + path, { headers, redirect: 'manual' });
          await answer.text();
          if (![200, 303, 404].includes(answer.status)) throw new Error(`HTTP ${answer.status} at /${path}`);
          tries.push(performance.now() - begun);
        }
        const serverMs = Math.round(tries.sort((a, b) => a - b)[Math.floor(looks / 2)] ?? 0);
        if (!withFirstContent.has(path)) times.push({ path, serverMs });
        else {
          await page.goto(desk.url + path);
          const painted = await page.evaluate(
            "new Promise((done) => new PerformanceObserver((all) => done(all.getEntries()[0].startTime)).observe({ type: 'paint', buffered: true }))",
          );
          times.push({ path, serverMs, firstContentMs: Math.round(Number(painted)) });
        }
      }
      return times;
    } finally {
      await chrome.close();
      await desk.close();
    }
  });
}
