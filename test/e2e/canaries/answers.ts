import { join } from 'node:path';
import type { FaultInput } from '../../../src/lab/sandbox/fault-plan.js';
import type { SandboxOptions } from '../../../src/lab/sandbox/options.js';
import type { Tree } from '../../support/merge-settings.js';
import { openSqlite } from '../../support/sqlite-file.js';
import { waitFor } from '../../support/wait-for.js';
import type { Office } from './office.js';
import { base64 } from './office.js';

export interface Scenario {
  /** The place of the secret, and the error that is provoked. */
  name: string;
  sandbox?: (secret: string) => Partial<SandboxOptions>;
  /** The service's answer. */
  faults?: (secret: string) => FaultInput[];
  settings?: Tree;
  /** Last changes before anything runs. */
  prepare?: (office: Office) => unknown;
  /** Default: one `sync`. */
  provoke?: (office: Office) => Promise<unknown>;
  /** The proof that the error was met: found in the output or the store. */
  meets: RegExp;
}

const inHtml = (text: string) => text.replace(/[^\w]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** A service that answers new orders in this way, to a client whose token is the secret. */
function ofOrders(
  echo: string,
  status: number,
  answer: (secret: string) => { body?: unknown; headers?: Record<string, string>; times?: number },
  meets: RegExp,
): Scenario {
  return {
    name: `the token, ${echo} of HTTP ${status} to a new order`,
    sandbox: (token) => ({ token }),
    prepare: (office) => office.file('token', office.secret),
    faults: (secret) => [{ kind: 'status', status, match: { method: 'POST', path: '/v1/orders' }, ...answer(secret) }],
    meets,
  };
}

/** A service that shows this invoice. */
function ofInvoices(echo: string, invoice: (secret: string) => object, meets: RegExp): Scenario {
  return {
    name: `the token, ${echo} of an invoice`,
    sandbox: (token) => ({ token }),
    prepare: (office) => office.file('token', office.secret),
    faults: (secret) => {
      const good = { invoice_no: 'INV-1', customer_code: 'K1', amount: 700, due_date: '2026-12-01', status: 'unpaid' };
      const body = { data: [{ ...good, ...invoice(secret) }], total: 1, page: 1 };
      return [{ kind: 'status', status: 200, body, match: { path: '/v2/invoices' } }];
    },
    meets,
  };
}

const order = (more: object) => ({
  order_id: 'ord_1',
  status: 'confirmed',
  total: 1,
  created_at: '2026-11-21T10:00:00Z',
  ...more,
});

export const echoes: Scenario[] = [
  ofOrders(
    'in the detail',
    400,
    (s) => ({ body: { title: 'Bad', detail: `The token ${s} is odd` } }),
    /\[secret\] is odd/,
  ),
  ofOrders('in the name of a field', 422, (s) => ({ body: { errors: { [s]: ['unknown'] } } }), /\[secret\]: unknown/),
  ofOrders('in a page', 403, (s) => ({ body: `<html><b>Bearer ${inHtml(s)}</b> is blocked</html>` }), /is blocked/),
  ofOrders('in base64', 500, (s) => ({ body: `trace: ${base64(s)} broke` }), /\[secret\].{0,9} broke/),
  ofOrders('in base64 of all credentials', 500, (s) => ({ body: `trace: ${base64(`Bearer ${s}`)} broke` }), / broke/),
  ofOrders('in an address', 400, (s) => ({ body: { message: `/v1?key=${encodeURIComponent(s)}& fails` } }), /& fails/),
  ofOrders('in hexadecimal', 400, (s) => ({ body: { message: `${Buffer.from(s).toString('hex')} fails` } }), / fails/),
  ofOrders(
    'in JSON within JSON',
    400,
    (s) => ({ body: { message: JSON.stringify({ said: JSON.stringify({ authorization: s }) }) } }),
    /authorization/,
  ),
  ofOrders('over the end of a reason', 400, (s) => ({ body: { message: `${'x'.repeat(285)} ${s}` } }), /HTTP 400/),
  ofOrders('over the end of an excerpt', 400, (s) => ({ body: `${'y '.repeat(240)}${s}` }), /HTTP 400/),
  ofOrders(
    'in the location',
    302,
    (s) => ({ headers: { location: `/login?back=${encodeURIComponent(s)}` } }),
    /redirect|302/,
  ),
  ofOrders(
    'in the request id',
    400,
    (s) => ({ headers: { 'x-request-id': `req ${s}` }, body: { message: 'no' } }),
    /req \[secret\]/,
  ),
  ofOrders(
    'in cookie and challenge',
    401,
    (s) => ({ headers: { 'set-cookie': `t=${s}`, 'www-authenticate': `Bearer error="${encodeURIComponent(s)}"` } }),
    /401/,
  ),
  ofOrders(
    'in Retry-After',
    429,
    (s) => ({ headers: { 'retry-after': s }, body: { message: 'slow' }, times: 1 }),
    /429|throttled/,
  ),
  ofOrders('in Sunset and Deprecation', 400, (s) => ({ headers: { sunset: s, deprecation: s } }), /HTTP 400/),
  ofOrders('as the id', 201, (s) => ({ body: order({ order_id: s }) }), /holds our credential/),
  ofOrders('as the state', 201, (s) => ({ body: order({ status: `is ${s}` }) }), /is \[secret\]/),
  ofOrders('as the total', 201, (s) => ({ body: order({ total: s }) }), /no valid acknowledgement/),
  ofOrders('as an unknown field', 201, (s) => ({ body: order({ session: s }) }), /ord_1/),
  ofOrders('in a list instead of an object', 201, (s) => ({ body: [s] }), /no JSON object/),
  ofOrders('in broken JSON', 201, (s) => ({ body: `{"order_id":"${s}` }), /no JSON/),
  ofInvoices('as the number', (invoice_no) => ({ invoice_no }), /holds our credential/),
  ofInvoices('as the customer', (customer_code) => ({ customer_code }), /holds our credential/),
  ofInvoices('in the status', (s) => ({ status: `due ${s}` }), /due \[secret\]/),
  ofInvoices('as the amount', (amount) => ({ amount }), /amount/),
  ofInvoices('as the due date', (due_date) => ({ due_date }), /due_date/),
  {
    name: 'the token, in an error of the list of invoices',
    sandbox: (token) => ({ token }),
    prepare: (office) => office.file('token', office.secret),
    faults: (s) => [
      { kind: 'status', status: 403, body: { message: `${s} may not list` }, match: { path: '/v2/invoices' } },
    ],
    meets: /\[secret\] may not list/,
  },
  {
    name: 'the token, as a customer that is there already',
    sandbox: (token) => ({ token }),
    prepare: (office) => office.file('token', office.secret),
    faults: (s) => [
      {
        kind: 'status',
        status: 409,
        body: { error: { code: 'already_exists', message: s } },
        match: { method: 'POST', path: '/v1/customers' },
      },
      {
        kind: 'status',
        status: 200,
        body: { customer_code: 'K10001', name: `Jo ${s}`, [s]: s },
        match: { method: 'GET', path: '/v1/customers' },
      },
    ],
    meets: /adopted/,
  },
  {
    name: 'the token, as the state of an order that is read back',
    sandbox: (token) => ({ token }),
    settings: {
      service: { endpoints: { readOrder: {} } },
      orders: { readBack: { enabled: true } },
      schedule: { capture: '* * * * * *' },
    },
    prepare: (office) => office.file('token', office.secret),
    faults: (s) => [
      {
        kind: 'status',
        status: 200,
        body: order({ order_id: `ord_${s}`, status: s }),
        match: { method: 'GET', path: '/v1/orders/' },
      },
    ],
    provoke: (office) =>
      office.daemon(/Delivering from here/, () =>
        waitFor('the answer is on record', async () => {
          const file = join(office.stateDir, 'waybill.sqlite');
          if (office.database)
            return (await office.database.query('SELECT * FROM attempt')).some(
              (row) => row.purpose === 'read_order' && row.verdict !== null,
            );
          const store = openSqlite(file, { readonly: true });
          const found = store
            .prepare("SELECT COUNT(*) AS n FROM attempt WHERE purpose='read_order' AND verdict IS NOT NULL")
            .get() as {
            n: number;
          };
          store.close();
          return found.n > 0;
        }),
      ),
    meets: /ord_\[secret\]/,
  },
  {
    name: 'an API key, echoed in a refusal',
    sandbox: (token) => ({ token, apiKey: { header: 'X-Api-Key' }, echoCredentials: true, forbidden: true }),
    settings: { service: { credential: { kind: 'apiKey' } } },
    prepare: (office) => office.file('token', office.secret),
    meets: /403/,
  },
  {
    name: 'the token that the service refuses, echoed',
    sandbox: () => ({ echoCredentials: true }),
    prepare: (office) => office.file('token', office.secret),
    meets: /401/,
  },
];

/** A token endpoint that answers in this way, to a client whose secret is the canary. */
function ofTokens(
  what: string,
  authentication: 'basic' | 'post',
  answer: (secret: string) => { status: number; headers?: Record<string, string>; body: string },
  meets: RegExp,
  service?: (token: string) => FaultInput[],
): Scenario {
  return {
    name: what,
    sandbox: (token) => ({ token }),
    ...(service && { faults: service }),
    prepare: async (office) => {
      const url = await office.serve((request, response) => {
        request.resume().on('end', () => {
          const { status, headers = { 'content-type': 'application/json' }, body } = answer(office.secret);
          response.writeHead(status, headers).end(body);
        });
      });
      const clientSecretFile = office.file('client-secret', office.secret);
      const credential = {
        kind: 'oauth',
        tokenUrl: `${url}/token`,
        clientId: 'waybill',
        clientSecretFile,
        authentication,
      };
      office.change({ service: { tokenFile: undefined, credential } });
    },
    meets,
  };
}

export const tokens: Scenario[] = [
  ofTokens(
    'the OAuth client secret, in the words of a refusal',
    'basic',
    (s) => ({ status: 401, body: JSON.stringify({ error: 'invalid_client', error_description: `${s} is wrong` }) }),
    /invalid_client/,
  ),
  ofTokens(
    'the OAuth client secret, as the header that carried it',
    'basic',
    (s) => ({ status: 400, body: `Authorization: Basic ${base64(`waybill:${s}`)} refused` }),
    /refused/,
  ),
  ofTokens(
    'the OAuth client secret, as the form that carried it',
    'post',
    (s) => ({ status: 400, body: `client_secret=${encodeURIComponent(s)}&grant_type=client_credentials refused` }),
    /refused/,
  ),
  ofTokens(
    'the OAuth client secret, in a redirect',
    'post',
    (s) => ({
      status: 302,
      headers: { location: `https://example.com/?client_secret=${encodeURIComponent(s)}` },
      body: '',
    }),
    /302/,
  ),
  ofTokens(
    'an access token of an odd kind',
    'basic',
    (access_token) => ({ status: 200, body: JSON.stringify({ access_token, token_type: 'mac' }) }),
    /no token from/,
  ),
  ofTokens(
    'an access token in broken JSON',
    'basic',
    (s) => ({ status: 200, body: `{"token_type":"bearer","access_token":${JSON.stringify(s)}` }),
    /no token from/,
  ),
  ofTokens(
    'an access token, in an error of the service',
    'basic',
    (access_token) => ({ status: 200, body: JSON.stringify({ access_token, token_type: 'Bearer', expires_in: 600 }) }),
    /\[secret\] has no right/,
    (s) => [{ kind: 'status', status: 400, body: { message: `${s} has no right` }, match: { method: 'POST' } }],
  ),
];
