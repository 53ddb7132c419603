import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxOptions, TokenRules } from '../../src/lab/sandbox/options.js';
import type { Authority } from '../support/certificates.js';

/** A service of this family: what it is like, and the settings that tell Waybill so. */
export interface Flavour {
  name: string;
  sandbox: (authority: Authority) => Partial<SandboxOptions>;
  /** Settings under `service`. */
  service: (folder: string, authority: Authority, url: string) => object;
  /** Settings under `invoices`. */
  invoices?: object;
}

const client: TokenRules = {
  clientId: 'waybill',
  clientSecret: 'canary-secret',
  authentication: 'basic',
  lifetimeMs: 3_600_000,
  saysLifetime: true,
  scope: null,
  trouble: null,
};

function secretFile(folder: string, name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

function byCertificate(authority: Authority): Partial<SandboxOptions> {
  const { key, cert } = authority.issue('server');
  return { byCertificate: true, tls: { key, cert, clientCa: authority.cert } };
}

function ownCertificate(folder: string, authority: Authority) {
  const { certFile, keyFile } = authority.issue('client', 'canary-phrase');
  const passphraseFile = secretFile(folder, 'passphrase', 'canary-phrase');
  return { caFile: authority.certFile, certificateFile: certFile, keyFile, passphraseFile };
}

export const flavours: readonly Flavour[] = [
  {
    name: 'API key, quoted key in a header, replays refusals, pages from 1 of 100, nested errors',
    sandbox: () => ({
      token: 'canary-key-1',
      apiKey: { header: 'X-Api-Key' },
      keyForm: 'quoted',
      replayRefusals: true,
      maxPageSize: 100,
    }),
    service: (folder) => ({
      credential: { kind: 'apiKey' },
      tokenFile: secretFile(folder, 'token', 'canary-key-1'),
      idempotency: { quoted: true, replaysRefusals: true },
    }),
  },
  {
    name: 'API key behind a scheme, bare key in a header of its own, pages from 0 of 20, problem+json',
    sandbox: () => ({
      token: 'canary-key-2',
      apiKey: { header: 'Authorization', scheme: 'ApiKey' },
      keyHeader: 'x-request-code',
      keyForm: 'bare',
      firstPage: 0,
      maxPageSize: 20,
      errorShape: 'problem',
      utcOffsetMinutes: 330,
    }),
    service: (folder) => ({
      credential: { kind: 'apiKey', header: 'Authorization', scheme: 'ApiKey' },
      tokenFile: secretFile(folder, 'token', 'canary-key-2'),
      idempotency: { header: 'X-Request-Code' },
    }),
    invoices: { paging: { firstPage: 0 } },
  },
  {
    name: 'OAuth, key in the body, replays refusals, pages from 1 of 20, errors of a message alone',
    sandbox: () => ({
      oauth: client,
      keyIn: 'body',
      keyField: 'request_code',
      replayRefusals: true,
      maxPageSize: 20,
      errorShape: 'message',
    }),
    service: (folder, _authority, url) => ({
      credential: {
        kind: 'oauth',
        tokenUrl: `${url}/oauth/token`,
        clientId: client.clientId,
        clientSecretFile: secretFile(folder, 'client-secret', client.clientSecret),
      },
      idempotency: { in: 'body', field: 'request_code', replaysRefusals: true },
    }),
  },
  {
    name: 'OAuth with tokens of eight seconds, quoted key, compares no bodies, pages from 0 of 100, a list of errors',
    sandbox: () => ({
      oauth: { ...client, authentication: 'post', lifetimeMs: 8_000, scope: 'orders invoices' },
      keyForm: 'quoted',
      compareBodies: false,
      firstPage: 0,
      maxPageSize: 100,
      errorShape: 'errors',
    }),
    service: (folder, _authority, url) => ({
      credential: {
        kind: 'oauth',
        tokenUrl: `${url}/oauth/token`,
        clientId: client.clientId,
        clientSecretFile: secretFile(folder, 'client-secret', client.clientSecret),
        authentication: 'post',
        scope: 'orders invoices',
      },
      idempotency: { quoted: true, comparesBodies: false },
      errorBody: { code: ['errors.0.code'], message: ['errors.0.message'] },
    }),
    invoices: { paging: { firstPage: 0 } },
  },
  {
    name: 'client certificate, key in the body, pages from 0 of 20, errors of plain text',
    sandbox: (authority) => ({
      ...byCertificate(authority),
      keyIn: 'body',
      firstPage: 0,
      maxPageSize: 20,
      errorShape: 'text',
    }),
    service: (folder, authority) => ({
      credential: { kind: 'certificate' },
      tls: ownCertificate(folder, authority),
      idempotency: { in: 'body' },
    }),
    invoices: { paging: { firstPage: 0 } },
  },
  {
    name: 'client certificate, bare key in a header, replays refusals, whole records, pages from 1 of 20, HTML errors',
    sandbox: (authority) => ({
      ...byCertificate(authority),
      keyForm: 'bare',
      replayRefusals: true,
      maxPageSize: 20,
      errorShape: 'html',
      limits: [{ requests: 400, windowMs: 1_000 }],
    }),
    service: (folder, authority) => ({
      credential: { kind: 'certificate' },
      tls: { ...ownCertificate(folder, authority), minVersion: 'TLSv1.3' },
      idempotency: { replaysRefusals: true },
      limits: [{ requests: 400, perSeconds: 1 }],
      endpoints: { updateCustomer: { method: 'PUT' }, updateOrder: { method: 'PUT' } },
    }),
    invoices: { scope: 'per-customer' },
  },
];
