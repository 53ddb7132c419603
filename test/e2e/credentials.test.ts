import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import type { SandboxOptions, TokenRules } from '../../src/lab/sandbox/options.js';
import { startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { Authority } from '../support/certificates.js';
import { insertSampleOrder } from '../support/change-sample-erp.js';
import { ConnectProxy } from '../support/connect-proxy.js';
import { useTempDir } from '../support/temp-dir.js';
import { expectNoSecret } from './expect-no-secret.js';
import { eventually, Installation } from './installation.js';

const rules: TokenRules = {
  clientId: 'waybill',
  clientSecret: 'canary-secret-1',
  authentication: 'basic',
  lifetimeMs: 3_600_000,
  saysLifetime: true,
  scope: null,
  trouble: null,
};

/** Written so that it is replaced at once, as whoever rotates secrets should. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

describe('the credential of a daemon, for every kind', function () {
  this.timeout(300_000);
  const dir = useTempDir();
  const closing: (() => unknown)[] = [];
  after(async () => {
    for (const close of closing.reverse()) await close();
  });

  interface Case {
    name: string;
    sandbox: (folder: string) => Partial<SandboxOptions>;
    service: (folder: string, url: string) => object;
    /** Replaces the secret on both sides while everything runs. */
    rotate: (sandbox: Awaited<ReturnType<typeof startSandbox>>, folder: string) => void;
  }

  const run = async ({ name, sandbox: options, service, rotate }: Case) => {
    const folder = join(dir.path, name);
    const erp = { type: 'sqlite' as const, file: join(folder, 'erp.sqlite') };
    mkdirSync(folder, { recursive: true });
    await createSampleErp({ target: erp, customers: 2, orders: 8 });
    const sandbox = await startSandbox({ ...options(folder), echoCredentials: true });
    closing.push(() => sandbox.close());
    const waybill = new Installation({
      folder,
      serviceUrl: sandbox.url,
      erp,
      store: { type: 'sqlite' },
      settings: {
        schedule: { capture: '* * * * * *', pull: '0 0 0 1 1 *' },
        delivery: { leaseSeconds: 4, drainSeconds: 5, probeSeconds: 0.3 },
        log: { level: 'debug' },
        service: {
          environment: 'sandbox',
          baseUrl: sandbox.url,
          deadlineSeconds: 1.5,
          ...service(folder, sandbox.url),
        },
      },
    });
    delete waybill.env.WAYBILL_SERVICE_TOKEN;
    const daemon = waybill.daemon();
    closing.push(async () => {
      daemon.kill('SIGKILL');
      await daemon.ended;
    });
    const arrived = (orders: number) => eventually(`${orders} orders`, () => sandbox.counts().orders >= orders, 40_000);
    await arrived(8);

    rotate(sandbox, folder);
    await insertSampleOrder(erp);
    await arrived(9);

    // A service that repeats what it was shown.
    sandbox.change({ forbidden: true });
    await insertSampleOrder(erp);
    await daemon.line(({ alert }) => String(alert).includes('does not let us deliver'), 40_000);
    daemon.kill('SIGTERM');
    expect(await daemon.ended, name).to.equal(0);
    expectNoSecret(`${name}: the log`, daemon.output());
    for (const file of readdirSync(folder).filter((one) => one.startsWith('waybill.sqlite')))
      expectNoSecret(`${name}: ${file}`, readFileSync(join(folder, file)).toString('latin1'));
    const audit = await waybill.run('audit', '--json');
    expect(audit.stdout).to.include('This account may not do that');
    expectNoSecret(`${name}: the audit`, audit.stdout + audit.stderr);
    expect(sandbox.counts().duplicateReferences).to.equal(0);
  };

  it('is taken anew without a restart when its files are replaced, and is nowhere to be read', async () => {
    const authority = new Authority(dir.file('authority'));
    const server = authority.issue('server');
    const [first, second] = [authority.issue('first', 'canary-phrase'), authority.issue('second', 'canary-phrase')];
    const proxy = await new ConnectProxy().open();
    proxy.account = 'anna:canary-password-1';
    closing.push(() => proxy.close());
    const put = (folder: string, name: string, text: string) => {
      replace(join(folder, name), text);
      return join(folder, name);
    };
    await Promise.all(
      (
        [
          {
            name: 'bearer',
            sandbox: () => ({ token: 'canary-token-1' }),
            service: (folder) => ({ tokenFile: put(folder, 'token', 'canary-token-1\n') }),
            rotate: (sandbox, folder) => {
              sandbox.change({ token: 'canary-token-2' });
              put(folder, 'token', 'canary-token-2\n');
            },
          },
          {
            name: 'api-key',
            sandbox: () => ({ token: 'canary-key-1', apiKey: { header: 'Authorization', scheme: 'ApiKey' } }),
            service: (folder) => ({
              credential: { kind: 'apiKey', header: 'Authorization', scheme: 'ApiKey' },
              tokenFile: put(folder, 'token', 'canary-key-1'),
            }),
            rotate: (sandbox, folder) => {
              sandbox.change({ token: 'canary-key-2' });
              put(folder, 'token', 'canary-key-2');
            },
          },
          {
            name: 'oauth',
            sandbox: () => ({ oauth: rules }),
            service: (folder, url) => ({
              credential: {
                kind: 'oauth',
                tokenUrl: `${url}/oauth/token`,
                clientId: 'waybill',
                clientSecretFile: put(folder, 'client-secret', rules.clientSecret),
              },
            }),
            rotate: (sandbox, folder) => {
              // First refused by who gives tokens, then, with the new file, by nobody.
              sandbox.change({ oauth: { ...rules, clientSecret: 'canary-secret-2' } });
              sandbox.expireTokens();
              setTimeout(() => put(folder, 'client-secret', 'canary-secret-2'), 1_500);
            },
          },
          {
            name: 'certificate-through-a-proxy',
            sandbox: () => ({
              byCertificate: true,
              tls: { key: server.key, cert: server.cert, clientCa: authority.cert },
            }),
            service: (folder) => {
              copyFileSync(first.certFile, join(folder, 'cert.pem'));
              copyFileSync(first.keyFile, join(folder, 'key.pem'));
              return {
                credential: { kind: 'certificate' },
                tls: {
                  caFile: authority.certFile,
                  certificateFile: join(folder, 'cert.pem'),
                  keyFile: join(folder, 'key.pem'),
                  passphraseFile: put(folder, 'passphrase', 'canary-phrase'),
                },
                proxy: { url: proxy.url, user: 'anna', passwordFile: put(folder, 'proxy', 'canary-password-1') },
              };
            },
            rotate: (_sandbox, folder) => {
              copyFileSync(second.certFile, join(folder, 'cert.pem'));
              copyFileSync(second.keyFile, join(folder, 'key.pem'));
              proxy.account = 'anna:canary-password-2';
              proxy.cut();
              put(folder, 'proxy', 'canary-password-2');
            },
          },
        ] satisfies Case[]
      ).map(run),
    );
  });
});
