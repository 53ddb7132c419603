import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import type { App } from '../../src/app.js';
import { type Desk, startDesk } from '../../src/desk/desk.js';
import { hashToken } from '../../src/desk/people.js';

export const benchToken = 'a-token-for-the-bench';

/** The settings of a desk that these pages can be open at. */
export function deskSettings(folder: string) {
  const usersFile = join(folder, 'desk-users');
  writeFileSync(usersFile, `bench:read:${hashToken(benchToken)}\n`, { mode: 0o600 });
  return { enabled: true, port: 0, usersFile };
}

/** A desk at which so many pages are looked at: each has loaded its overview, and is told how much has happened since. */
export async function openPages(app: App, count: number): Promise<Desk> {
  const erpNow = async () => ({ problem: { code: 'erp_silent' } as const });
  const parts = { context: app.context, erpNow, erpIdentity: 'bench', secrets: [], originOf: () => undefined };
  const desk = await startDesk(parts);
  const headers = { authorization: `Bearer ${benchToken}` };
  for (let nth = 0; nth < count; nth++) {
    await new Promise((resolve, reject) => {
      get(desk.url, { headers }, (page) => page.resume().on('end', resolve)).on('error', reject);
    });
    // It ends with the desk.
    get(`${desk.url}live?since=0`, { headers }, (events) => events.resume()).on('error', () => undefined);
  }
  return desk;
}
