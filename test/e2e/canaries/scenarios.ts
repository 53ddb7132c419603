import { createHmac } from 'node:crypto';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Authority } from '../../support/certificates.js';
import { waitFor } from '../../support/wait-for.js';
import { echoes, type Scenario, tokens } from './answers.js';
import { base64, type Office } from './office.js';

/** A configuration that is wrong, or seems so. */
function ofSettings(name: string, prepare: (office: Office) => unknown, meets: RegExp): Scenario {
  return { name, prepare, meets };
}

const settings: Scenario[] = [
  ofSettings(
    'a token in the settings',
    (o) => o.change({ service: { token: o.secret } }),
    /does not belong in a settings file/,
  ),
  ofSettings('a token under a misspelt name', (o) => o.change({ service: { tokne: o.secret } }), /tokne/),
  ofSettings(
    'a password in service.baseUrl',
    (o) => o.change({ service: { baseUrl: `https://me:${encodeURIComponent(o.secret)}@example.com` } }),
    /service\.baseUrl/,
  ),
  ofSettings(
    'a key in the query of service.baseUrl',
    (o) => o.change({ service: { baseUrl: `${o.sandbox.url}/?key=${encodeURIComponent(o.secret)}` } }),
    /service\.baseUrl/,
  ),
  ofSettings(
    'a password in service.proxy.url',
    (o) => o.change({ service: { proxy: { url: `http://me:${encodeURIComponent(o.secret)}@127.0.0.1:1` } } }),
    /service\.proxy\.url/,
  ),
  ofSettings('a password where a group belongs', (o) => o.change({ erp: o.secret }), /erp/),
  ofSettings(
    'a password where a number belongs',
    (o) => o.change({ delivery: { drainSeconds: o.secret } }),
    /drainSeconds/,
  ),
  ofSettings(
    'a password in broken YAML',
    (o) => (o.configure = () => o.file('local.yaml', `erp:\n  password: *${o.secret}\n`)),
    /local\.yaml/,
  ),
  ofSettings(
    'a token in a misspelt variable',
    (o) => Object.assign(o.env, { WAYBILL_SERVICE_TOKN: o.secret }),
    /WAYBILL_SERVICE_TOKN/,
  ),
  ofSettings('a token file with two lines', (o) => o.file('token', `${o.secret}\n${o.secret}\n`), /line/),
  ofSettings('a token that no header carries', (o) => o.file('token', `${o.secret}\u0001ü`), /token/i),
  ofSettings(
    'a token file that all may read',
    (o) => chmodSync(join(o.configDir, o.file('token', o.secret)), 0o644),
    /chmod o-rwx/,
  ),
  ofSettings(
    'a webhook secret of the wrong form',
    (o) => o.change({ webhooks: { enabled: true, secretFiles: [o.file('hook', o.secret)] } }),
    /webhooks\.secretFiles/,
  ),
  ofSettings(
    'the passphrase of another key',
    (o) => {
      const client = new Authority(join(o.configDir, 'tls')).issue('client', 'another');
      const tls = {
        certificateFile: client.certFile,
        keyFile: client.keyFile,
        passphraseFile: o.file('phrase', o.secret),
      };
      o.change({ service: { tls, credential: { kind: 'certificate' }, tokenFile: undefined } });
    },
    /refused by TLS/,
  ),
];

const ways: Scenario[] = [
  {
    name: 'the password of a proxy, which refuses it and echoes it',
    prepare: async (office) => {
      const { secret } = office;
      const basic = base64(`anna:${secret}`);
      const words = `HTTP/1.1 407 ${secret}\r\nProxy-Authenticate: Basic realm="${basic}"\r\n\r\nnot with ${basic}, ${secret}`;
      const port = await office.listen((socket) => void socket.on('error', () => undefined).end(words));
      const passwordFile = office.file('proxy', secret);
      office.change({ service: { proxy: { url: `http://127.0.0.1:${port}`, user: 'anna', passwordFile } } });
    },
    meets: /proxy.*407/i,
  },
  {
    name: 'the password of a proxy, which can not be reached',
    prepare: (office) => {
      const passwordFile = office.file('proxy', office.secret);
      office.change({ service: { proxy: { url: 'http://127.0.0.1:1', user: 'anna', passwordFile } } });
    },
    meets: /ECONNREFUSED/,
  },
  {
    name: 'the password of a proxy of the environment',
    prepare: ({ env, secret }) => {
      const url = `http://me:${encodeURIComponent(secret)}@127.0.0.1:1`;
      Object.assign(env, { HTTP_PROXY: url, http_proxy: url, HTTPS_PROXY: url, npm_config_proxy: url });
    },
    faults: () => [{ kind: 'status', status: 400, body: { message: 'no' } }],
    meets: /HTTP 400/,
  },
  {
    name: 'the secret of the webhooks, echoed by the service',
    settings: { webhooks: { enabled: true, scheme: 'hmac' } },
    prepare: (office) => office.change({ webhooks: { secretFiles: [office.file('hook', office.secret)] } }),
    faults: (s) => [
      { kind: 'status', status: 400, body: { message: `your hook ${s} fails` }, match: { method: 'POST' } },
    ],
    meets: /hook .* fails/,
  },
];

const operator: Scenario[] = [
  {
    name: 'the token, as the reason of an operator',
    prepare: (office) => office.file('token', office.secret),
    provoke: async (office) => {
      await office.waybill('migrate');
      await office.waybill('pause', 'pull', '--reason', `renewed ${office.secret} today`);
      await office.waybill('status');
      await office.waybill('resume', 'pull', '--reason', office.secret);
    },
    meets: /renewed \[secret\] today/,
  },
  {
    name: 'the token, as a key, a date, a number and a choice that are wrong',
    prepare: (office) => office.file('token', office.secret),
    provoke: async (office) => {
      const { secret } = office;
      await office.waybill('sync', '--key', secret);
      await office.waybill('explain', 'order', secret);
      await office.waybill('explain', 'order', secret, '--json');
      await office.waybill('audit', '--since', secret);
      await office.waybill('recover', '--bindings', secret);
      await office.waybill('adopt', 'orders', '--file', secret, '--reason', secret);
    },
    meets: /is not a date/,
  },
];

/** An event that the service signs. */
async function announce(port: string, secret: string, event: object, headers: Record<string, string> = {}) {
  const body = JSON.stringify(event);
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  return fetch(`http://127.0.0.1:${port}/webhooks`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'x-signature': signature, ...headers },
  });
}

const hooks = (office: Office, secretFile: string) =>
  office.change({
    webhooks: { enabled: true, scheme: 'hmac', port: 0, secretFiles: [secretFile] },
    log: { level: 'debug' },
  });
const portOf = (text: string) => /"port":(\d+)/.exec(text)?.[1] ?? '';

const daemons: Scenario[] = [
  {
    name: 'the secret of the webhooks, in a forged event that names it',
    prepare: (office) => hooks(office, office.file('hook', office.secret)),
    provoke: (office) =>
      office.daemon(/Listening for webhooks/, async (_pid, _said) => {
        const answer = await announce(
          portOf(office.output),
          'guessed',
          { type: office.secret },
          { 'x-signature': encodeURIComponent(office.secret) },
        );
        office.seen.push([
          'the answer to the webhook',
          `HTTP ${answer.status} ${JSON.stringify([...answer.headers])} ${await answer.text()}`,
        ]);
      }),
    meets: /HTTP 401/,
  },
  {
    name: 'the token, in the id, the type and the subject of events',
    sandbox: (token) => ({ token }),
    prepare: (office) => {
      office.file('token', office.secret);
      hooks(office, office.file('hook', 'a-text-of-more-than-16-characters'));
    },
    provoke: (office) =>
      office.daemon(/Listening for webhooks/, async (_pid, said) => {
        const send = (event: object) => announce(portOf(office.output), 'a-text-of-more-than-16-characters', event);
        const data = { invoice_no: `INV ${office.secret}`, order_id: office.secret };
        await send({ id: `evt ${office.secret}`, type: 'payment.succeeded', data });
        await send({ id: 'evt-2', type: 'order.status_changed', data });
        await send({ id: 'evt-3', type: `odd.${office.secret}`, data });
        await said(/of this type are answered/);
      }),
    meets: /odd\.\[secret\]/,
  },
  {
    name: 'secrets of the environment, handed to the alert command, which complains with them',
    prepare: (office) => {
      const program = join(office.folder, 'alert.sh');
      const dump = join(office.folder, 'alert.txt');
      writeFileSync(
        program,
        `#!/bin/sh\n{ env; cat; tr '\\0' ' ' < /proc/$PPID/cmdline; } > ${dump}.new && mv ${dump}.new ${dump}\nexit 3\n`,
        { mode: 0o700 },
      );
      Object.assign(office.env, {
        WAYBILL_SERVICE_TOKEN: office.secret,
        'npm_config_//registry.example.com/:_authToken': office.secret,
        MYSQL_PWD: office.secret,
      });
      office.change({
        service: { tokenFile: undefined },
        alert: { command: [program] },
        schedule: { capture: '* * * * * *' },
      });
    },
    sandbox: () => ({ echoCredentials: true }),
    provoke: (office) =>
      office.daemon(/does not accept our credential/, () =>
        waitFor('the alert command ran', () => existsSync(join(office.folder, 'alert.txt')), 20_000),
      ),
    meets: /credential/,
  },
  {
    name: 'the token, in an error that nothing caught',
    prepare: (office) => {
      const late = `process.on('SIGUSR2', () => Promise.reject(new TypeError('unforeseen ' + process.env.WAYBILL_SERVICE_TOKEN)));`;
      const file = join(office.folder, 'late.mjs');
      writeFileSync(file, late);
      Object.assign(office.env, { WAYBILL_SERVICE_TOKEN: office.secret, NODE_OPTIONS: `--import ${file}` });
      office.change({ service: { tokenFile: undefined } });
    },
    provoke: (office) =>
      office.daemon(/Started/, async (pid, said) => {
        process.kill(pid, 'SIGUSR2');
        await said(/Ended by an error/);
        delete office.env.NODE_OPTIONS;
      }),
    meets: /unforeseen \[secret\]/,
  },
  {
    name: 'a new token, in settings that are wrong at a reload',
    prepare: (office) => office.file('token', 'sandbox-token'),
    provoke: (office) =>
      office.daemon(/Started/, async (pid, said) => {
        const { settings: right } = office;
        office.change({ service: { token: office.secret } });
        office.configure();
        process.kill(pid, 'SIGHUP');
        await said(/Nothing was reloaded/);
        office.settings = right;
        office.configure();
      }),
    meets: /Nothing was reloaded/,
  },
];

/** A server that refuses every connection in these words (MySQL's error packet, before any handshake). */
async function mysqlThatSays(office: Office, words: string) {
  const payload = Buffer.concat([Buffer.from([0xff, 0x69, 0x04]), Buffer.from(words)]);
  const packet = Buffer.concat([Buffer.from([payload.length, 0, 0, 0]), payload]);
  const port = await office.listen((socket) => void socket.on('error', () => undefined).end(packet));
  return { type: 'mysql', host: '127.0.0.1', port, database: 'd', user: 'u' };
}

/** The same by PostgreSQL's protocol. */
async function postgresThatSays(office: Office, words: string) {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C28000\0M${words}\0\0`);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(fields.length + 4);
  const packet = Buffer.concat([Buffer.from('E'), length, fields]);
  const port = await office.listen(
    (socket) => void socket.on('error', () => undefined).once('data', () => socket.end(packet)),
  );
  return { type: 'postgres', host: '127.0.0.1', port, database: 'd', user: 'u' };
}

const databases: Scenario[] = [
  {
    name: 'the password of an ERP on PostgreSQL, in the words of its server',
    prepare: async (office) => {
      const server = await postgresThatSays(office, `no entry for u:${office.secret}`);
      const passwordFile = office.file('erp-password', office.secret);
      office.change({ erp: { ...server, passwordFile, file: undefined }, writeBack: { enabled: false } });
      office.change({ schedule: { capture: '* * * * * *' } });
    },
    provoke: (office) =>
      office.daemon(/cannot be reached yet/, (_pid, said) => said(/no entry for[\s\S]*no entry for/)),
    meets: /no entry for/,
  },
  {
    name: 'the password of the store, in the words of its server',
    prepare: async (office) => {
      const server = await mysqlThatSays(office, `Host is blocked, u:${office.secret}`);
      office.settings.store = { ...server, passwordFile: office.file('store-password', office.secret) };
    },
    meets: /Host is blocked/,
  },
  {
    name: 'the password of the store, in the words of its server, while a daemon waits for it',
    prepare: async (office) => {
      const server = await mysqlThatSays(office, `Host is blocked, u:${office.secret}`);
      office.settings.store = { ...server, passwordFile: office.file('store-password', office.secret) };
    },
    provoke: (office) => office.daemon(/Waiting for the store/),
    meets: /Host is blocked/,
  },
  {
    name: 'the password of the ERP, in the words of its server',
    prepare: async (office) => {
      const server = await mysqlThatSays(office, `Host is blocked, u:${office.secret}`);
      const passwordFile = office.file('erp-password', office.secret);
      office.change({ erp: { ...server, passwordFile, file: undefined }, writeBack: { enabled: false } });
      office.change({ schedule: { capture: '* * * * * *' } });
    },
    provoke: async (office) => {
      await office.waybill('sync', 'capture');
      await office.daemon(/cannot be reached yet/, (_pid, said) => said(/Host is blocked[\s\S]*Host is blocked/));
    },
    meets: /Host is blocked/,
  },
  {
    name: 'the password of the ERP, in the words of its server, while it is written back',
    prepare: async (office) => {
      const server = await mysqlThatSays(office, `Host is blocked, u:${office.secret}`);
      const { type: _, ...writeBack } = server;
      const passwordFile = office.file('write-back-password', office.secret);
      office.env.WAYBILL_ERP_PASSWORD = office.secret;
      office.change({ erp: { ...server, file: undefined }, writeBack: { ...writeBack, user: 'writer', passwordFile } });
    },
    provoke: async (office) => {
      office.sandbox.addInvoices([{ amount: 1, customer_code: 'K10001' }]);
      await office.waybill('sync', 'pull');
    },
    meets: /Host is blocked/,
  },
];

/** The server of the store is a real one, and refuses us. */
export const databaseScenarios: Scenario[] = [
  {
    name: 'the password of the store, which its server refuses',
    prepare: (office) => office.file('store-password', office.secret),
    meets: /Access denied/,
  },
  {
    name: 'the password of the store, in an error of its server that the store keeps',
    prepare: async (office) => {
      const { user, query } = office.database as NonNullable<Office['database']>;
      office.file('store-password', office.secret);
      await query("ALTER USER ?@'127.0.0.1' IDENTIFIED BY ?", [user, office.secret]);
    },
    provoke: async (office) => {
      await office.waybill('migrate');
      const trigger = 'CREATE TRIGGER talk BEFORE INSERT ON outbox_message FOR EACH ROW SIGNAL SQLSTATE';
      await office.database?.query(`${trigger} '45000' SET MESSAGE_TEXT=?`, [`no room for ${office.secret}`]);
      await office.daemon(/capture failed/);
    },
    meets: /no room for/,
  },
  {
    name: 'the password of the ERP, which its server refuses',
    prepare: (office) => {
      const { host, port, database, user } = office.database as NonNullable<Office['database']>;
      const passwordFile = office.file('erp-password', office.secret);
      office.change({
        erp: { type: 'mysql', host, port, database, user, passwordFile, file: undefined },
        writeBack: { enabled: false },
      });
    },
    meets: /Access denied/,
  },
  {
    name: 'the token, in an error that a store on a server keeps',
    sandbox: (token) => ({ token }),
    prepare: (office) => office.file('token', office.secret),
    faults: (s) => [
      { kind: 'status', status: 400, body: { message: `The token ${s} is odd` }, match: { path: '/v1/orders' } },
      { kind: 'status', status: 200, body: { data: [{ invoice_no: s }], total: 1 }, match: { path: '/v2/invoices' } },
    ],
    meets: /\[secret\] is odd/,
  },
];

export const scenarios: Scenario[] = [
  ...echoes,
  ...tokens,
  ...settings,
  ...ways,
  ...operator,
  ...daemons,
  ...databases,
];
