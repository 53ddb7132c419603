import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Desk } from '../../src/desk/desk.js';
import { accessProblem } from '../../src/desk/guard.js';
import { routes } from '../../src/desk/routes.js';
import { onAnyStore } from '../store/stores.js';
import { type Lab, useLab } from '../support/jobs/job-lab.js';
import {
  ask,
  Browser,
  deskSettings,
  openDesk,
  password,
  proxySecret,
  tokens,
  tryToSignIn,
  writeUsers,
} from './desk-client.js';

onAnyStore('the door of the desk', (kit) => {
  // These guards do not depend on the store.
  if (kit.dialect !== 'sqlite') return;
  const labs = useLab(kit);
  let lab: Lab;
  let desk: Desk;
  let browser: Browser;

  async function start(more = {}): Promise<void> {
    lab = await labs.start({ customers: 1, orders: 1, settings: await deskSettings(kit.folder, more) });
    desk = await openDesk(lab);
    browser = new Browser(desk.url);
  }
  afterEach(() => desk.close());

  const auditOf = () =>
    lab.context.store.read('read the audit', (tx) =>
      tx.rows("SELECT event, outcome, actor FROM audit_log WHERE event='desk' ORDER BY id"),
    );

  it('is shut: without signing in, every route but the form, the style and the probes leads to the form or says 401', async () => {
    await start();
    for (const { method, path, access } of routes) {
      const url = desk.url + path.replace(/:\w+/, '1');
      const headers: { [name: string]: string } = method === 'POST' ? { origin: browser.origin } : {};
      const answer = await ask(url, { method, headers, ...(method === 'POST' && { form: {} }) });
      if (access === 'anyone') expect(answer.status, path).to.be.oneOf(path === 'readyz' ? [503] : [200, 401]);
      else if (method === 'GET') expect(answer.headers.location, path).to.match(/^\/sign-in\?next=/);
      else expect(answer.status, path).to.equal(401);
      expect(answer.body).not.to.contain(lab.settings.installation);
    }
    expect((await ask(`${desk.url}nothing`)).headers.location).to.match(/^\/sign-in/);
  });

  it('knows the session of its own installation alone, so that two desks of one machine sign nobody out', async () => {
    await start();
    await browser.signIn('anna');
    const [[name, id] = ['', '']] = [...browser.cookies];
    expect((await browser.open('')).status).to.equal(200);
    // Another desk on this host has set its cookie meanwhile.
    browser.cookies.set(`${name.slice(0, -12)}000000000000`, 'of another desk');
    browser.cookies.set('waybill_desk', 'of another desk');
    expect((await browser.open('')).status).to.equal(200);
    expect(browser.cookies.get(name)).to.equal(id);
  });

  it('stays open for a request that is whole, however many connections are silent or send half of one', async () => {
    await start();
    const { port, hostname } = new URL(desk.url);
    const sockets: Socket[] = [];
    try {
      for (let n = 0; n < 300; n++) {
        const socket = connect(Number(port), hostname).on('error', () => undefined);
        await once(socket, 'connect');
        if (n % 2 === 0) socket.write('POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf');
        sockets.push(socket);
      }
      expect((await ask(`${desk.url}healthz`)).status).to.equal(200);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  it('refuses a filter that names a value which does not exist, instead of showing all', async () => {
    await start();
    await browser.signIn('anna');
    for (const path of [
      'outbox?state=parkd',
      'outbox.csv?state=parkd',
      'outbox?entity=orders',
      'outbox.csv?class=hold',
      'invoices?list=credits',
      'invoices.csv?list=credits',
      'invoices.csv?list=__proto__',
      'audit?entity=invoice',
      'audit.csv?entity=Order',
      'act?action=discard&state=parkd&class=held',
    ]) {
      const answer = await browser.open(path);
      expect([path, answer.status]).to.deep.equal([path, 400]);
      expect(answer.body).to.contain('There is no such value of the filter ');
    }
    for (const path of ['outbox?state=&entity=', 'outbox.csv?state=parked', 'invoices?list='])
      expect([path, (await browser.open(path)).status]).to.deep.equal([path, 200]);
  });

  it('lets a route without an access of its own be used by nobody', () => {
    const person = { name: 'anna', role: 'act', csrf: null } as const;
    expect(accessProblem(undefined, person)).to.equal('This page is closed.');
    expect(accessProblem(undefined, null)).to.equal('sign in');
  });

  it('lets a reader use no route that changes, whichever there will be', async () => {
    await start();
    const reader = { name: 'rita', role: 'read', csrf: null } as const;
    expect(accessProblem('act', reader)).to.match(/may look, but not act/);
    const csrf = await browser.signIn('rita');
    // A reader's POST changes nothing but the look of the desk for this reader.
    const harmless = ['sign-in', 'sign-out', 'theme'];
    for (const { method, path, access } of routes.filter((route) => route.method === 'POST')) {
      if (harmless.includes(path)) continue;
      expect(access, path).to.equal('act');
      for (const headers of [browser.headers, { authorization: `Bearer ${tokens.read}` }])
        expect((await ask(desk.url + path, { method, form: { csrf }, headers })).status, path).to.equal(403);
    }
  });

  it('signs in by name and password, with a strict cookie, and puts it on record with its person', async () => {
    await start();
    const answer = await browser.post('sign-in', { name: 'anna', password, next: '/needs-a-person' });
    expect([answer.status, answer.headers.location]).to.deep.equal([303, '/needs-a-person']);
    expect(answer.headers['set-cookie']?.[0]).to.match(
      /^waybill_desk_[0-9a-f]{12}=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    const page = await browser.open('');
    expect(page.status).to.equal(200);
    expect(page.body).to.contain('anna (may act)');
    const csrf = /name="csrf" value="([\w-]+)"/.exec(page.body)?.[1] ?? '';
    await browser.post('sign-out', { csrf });
    expect((await browser.open('')).status).to.equal(303);
    const { actor } = lab.context;
    expect(actor).to.equal('test');
    expect(await auditOf()).to.deep.equal([
      { event: 'desk', outcome: 'sign_in', actor: 'anna (desk)' },
      { event: 'desk', outcome: 'sign_out', actor: 'anna (desk)' },
    ]);
  });

  it('refuses a wrong password, a name that does not exist and a person of the proxy alike', async () => {
    await start();
    const said = new Set<string>();
    for (const name of ['anna', 'nobody', 'paul@example.com', 'prometheus', '\u202e\u001b[2J']) {
      const answer = await browser.post('sign-in', { name, password: name === 'anna' ? 'wrong' : password });
      expect([name, answer.status]).to.deep.equal([name, 401]);
      said.add(answer.body);
    }
    expect(said.size).to.equal(1);
    expect(await auditOf()).to.deep.equal([]);
    expect(lab.log.join('\n'))
      .to.contain('A sign-in at the desk was refused')
      .and.not.to.match(/\\u001b|\\u202e/);
  });

  it('stops ten thousand tries after the first few of a minute, and leaves those who are in alone', async () => {
    await start();
    await browser.signIn('rita');
    const statuses = await tryToSignIn(desk.url, 10_000);
    expect([...statuses].sort()).to.deep.equal([
      [401, 19],
      [429, 9_981],
    ]);
    expect((await browser.open('')).status).to.equal(200);
  });

  it('answers to its own names alone, so that a rebound name reads nothing', async () => {
    await start();
    const { port } = new URL(desk.url);
    await browser.signIn('anna');
    for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1', `127.0.0.1.evil.example:${port}`])
      expect((await browser.open('', { host })).status, host).to.equal(421);
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`])
      expect((await browser.open('', { host })).status, host).to.equal(200);
  });

  it('refuses changes from the page of another site, and forms without its token', async () => {
    await start();
    const csrf = await browser.signIn('anna');
    const form = { csrf, theme: 'dark' };
    const post = async (fields: { [name: string]: string }, headers = {}) =>
      (await browser.post('theme', fields, headers)).status;
    expect(await post(form)).to.equal(303);
    expect(await post({ theme: 'dark' }), 'no token').to.equal(403);
    expect(await post({ ...form, csrf: 'forged' }), 'forged').to.equal(403);
    const other = await new Browser(desk.url).signIn('anna');
    expect(await post({ ...form, csrf: other }), 'of another session').to.equal(403);
    expect(await post(form, { origin: 'https://evil.example' }), 'another origin').to.equal(403);
    expect(await post(form, { origin: 'null' }), 'a sandboxed frame').to.equal(403);
    expect(await post(form, { 'sec-fetch-site': 'cross-site' })).to.equal(403);
    expect(await post(form, { 'sec-fetch-site': 'same-site' })).to.equal(403);
    const without = await ask(`${desk.url}theme`, { method: 'POST', form, headers: browser.headers });
    expect(without.status, 'no origin at all').to.equal(403);
    const login = await ask(`${desk.url}sign-in`, {
      method: 'POST',
      form: { name: 'anna', password },
      headers: { origin: 'https://evil.example' },
    });
    expect(login.status, 'another site can sign nobody in').to.equal(403);
    for (const [type, body] of [
      ['application/json', '{}'],
      ['text/plain', `csrf=${csrf}`],
    ] as const) {
      const answer = await browser.post('theme', { x: body }, { 'content-type': type });
      expect(answer.status, type).to.be.oneOf([400, 403, 415]);
    }
  });

  it('is read by pages of its own, and by a link of another site, but by no fetch or frame of one', async () => {
    await start();
    await browser.signIn('anna');
    const from = (site: string, mode: string, dest: string) =>
      browser.open('', { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest });
    expect((await from('same-origin', 'navigate', 'document')).status).to.equal(200);
    expect((await from('cross-site', 'navigate', 'document')).status).to.equal(200);
    for (const [mode, dest] of [
      ['navigate', 'iframe'],
      ['no-cors', 'image'],
      ['no-cors', 'script'],
      ['cors', 'empty'],
    ] as const)
      expect((await from('cross-site', mode, dest)).status, dest).to.equal(403);
    // The strict cookie does not come with a link, and comes when our page asks again.
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    const answer = await ask(desk.url, { headers: link });
    expect([answer.status, answer.headers.refresh, answer.body.includes('Overview')]).to.deep.equal([200, '0', false]);
  });

  it('sends a policy without any script but its own files with each page, also with the form and with errors', async () => {
    await start();
    await browser.signIn('anna');
    const pages = [await browser.open(), await browser.open('nothing'), await ask(`${desk.url}sign-in`)];
    for (const { headers, body } of pages) {
      expect(headers['content-security-policy'])
        .to.match(/^default-src 'none'/)
        .and.contain("script-src 'self';")
        .and.not.to.match(/unsafe|nonce|\*/);
      expect(headers['x-frame-options']).to.equal('DENY');
      expect(headers['x-content-type-options']).to.equal('nosniff');
      expect(headers['cache-control']).to.equal('no-store');
      const own = /<script src="\/(desk|uplot|charts)\.js" defer><\/script>/g;
      expect(body.replaceAll(own, '')).not.to.match(/<script|style="|\son\w+="/i);
    }
    expect(pages.map(({ status }) => status)).to.deep.equal([200, 404, 200]);
  });

  it('lets scripts in by a token, with their role and no cookie', async () => {
    await start();
    const open = (token: string) => ask(desk.url, { headers: { authorization: `Bearer ${token}` } });
    expect((await open(tokens.read)).body).to.contain('prometheus (may look)');
    expect((await open(tokens.act)).body).to.contain('script (may act)');
    expect((await open(`${tokens.act}x`)).status).to.equal(303);
    expect((await open('')).status).to.equal(303);
  });

  it('believes the header of a proxy that proves itself, for people with a line alone', async () => {
    await start({ proxy: { userHeader: 'X-Forwarded-User', secret: proxySecret } });
    const open = (user: string, secret: string) =>
      ask(desk.url, { headers: { 'x-forwarded-user': user, 'x-waybill-proxy': secret } });
    expect((await open('paul@example.com', proxySecret)).body).to.contain('paul@example.com (may look)');
    expect((await open('paul@example.com', 'guessed')).status).to.equal(303);
    expect((await open('stranger@example.com', proxySecret)).status).to.equal(303);
    const headers = { 'x-forwarded-user': 'paul@example.com', 'x-waybill-proxy': proxySecret, origin: browser.origin };
    const change = await ask(`${desk.url}theme`, { method: 'POST', form: { theme: 'dark' }, headers });
    expect(change.status, 'a change needs the form’s token').to.equal(403);
  });

  it('believes no header where no proxy is set', async () => {
    await start();
    const headers = { 'x-forwarded-user': 'anna', 'x-waybill-proxy': '', 'remote-user': 'anna' };
    expect((await ask(desk.url, { headers })).status).to.equal(303);
  });

  it('lives under a path behind a proxy, and goes over https alone there', async () => {
    await start({ publicUrl: 'https://erp.example.com/waybill' });
    expect(new URL(desk.url).pathname).to.equal('/waybill/');
    const behind = { host: 'erp.example.com', origin: 'https://erp.example.com' };
    const answer = await browser.post('sign-in', { name: 'anna', password, next: '//evil.example/' }, behind);
    expect([answer.status, answer.headers.location]).to.deep.equal([303, '/waybill/']);
    expect(answer.headers['set-cookie']?.[0]).to.match(/Path=\/waybill\/; HttpOnly; Secure; SameSite=Strict/);
    const { body } = await browser.open('', { host: 'erp.example.com' });
    const links = [...body.matchAll(/(?:href|action)="([^"#]+)"/g)].map(([, to]) => to);
    expect(links).not.to.be.empty;
    for (const link of links) expect(link).to.match(/^\/waybill\//);
    expect((await ask(`${new URL(desk.url).origin}/`)).status).to.equal(303);
  });

  it('leads nobody to another site after signing in', async () => {
    await start();
    for (const next of [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      '/\tx',
      'javascript:alert(1)',
      '/order/€',
      '/\0',
    ])
      expect((await new Browser(desk.url).post('sign-in', { name: 'anna', password, next })).headers.location).to.equal(
        '/',
      );
  });

  it('ends a session when its line goes or gets another password, and when its hours are over', async () => {
    await start({ sessionHours: 1 });
    await browser.signIn('anna');
    let nowMs = Date.now();
    lab.context.nowMs = () => nowMs;
    expect((await browser.open()).status).to.equal(200);
    await writeUsers(kit.folder, 'anna:read:proxy');
    expect((await browser.open()).status, 'two lines of one name: neither counts').to.equal(303);
    await writeUsers(kit.folder);
    expect((await browser.open()).status, 'an ended session stays ended').to.equal(303);
    await browser.signIn('anna');
    writeFileSync(join(kit.folder, 'desk-users'), 'anna:act:proxy\n');
    expect((await browser.open()).status).to.equal(303);
    await writeUsers(kit.folder);
    await browser.signIn('anna');
    nowMs += 3_600_001;
    expect((await browser.open()).status).to.equal(303);
  });

  it('takes no path, header or body that makes no sense for more than that', async () => {
    await start();
    await browser.signIn('anna');
    for (const path of [
      'order/%ff',
      'order/..%2f..%2fetc%2fpasswd',
      `order/${'x'.repeat(4_000)}`,
      '%00',
      '?q=%00%1b%5b2J',
    ])
      expect((await browser.open(path)).status, path).to.be.oneOf([200, 400, 404, 414]);
    const large = await browser.post('theme', { csrf: 'x'.repeat(100_000) });
    expect(large.status).to.equal(413);
  });
});
