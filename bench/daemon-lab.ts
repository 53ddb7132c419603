import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openApp } from '../src/app.js';
import { createSampleErp, sampleErpMapping } from '../src/lab/sample-erp/create-sample-erp.js';
import type { SandboxOptions } from '../src/lab/sandbox/options.js';
import { type Sandbox, startSandbox } from '../src/lab/sandbox/start-sandbox.js';
import type { Tx } from '../src/store/store.js';

export interface DaemonLabOptions {
  installation: string;
  customers: number;
  orders: number;
  sandbox?: Partial<SandboxOptions>;
  /** Settings of the service beside its address. */
  service: object;
  /** Further sections of the settings. */
  settings?: object;
  /** The store's location; absent: a file. */
  store?: { type: string; password?: string };
}

export interface DaemonLab {
  sandbox: Sandbox;
  /** Starts `waybill daemon` as a process of its own; one at a time. */
  start(): void;
  /** Ends it, and resolves when it is gone. */
  end(signal: NodeJS.Signals): Promise<void>;
  /** Counts from the store. */
  lookBack<T>(read: (tx: Tx) => Promise<T>): Promise<T>;
}

/** An installation with a daemon that can be killed, between an ERP and a sandbox, all of it gone afterwards. */
export async function withDaemonLab<T>(options: DaemonLabOptions, measure: (lab: DaemonLab) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-bench-'));
  const sandbox = await startSandbox(options.sandbox ?? {});
  const erp = join(folder, 'erp.sqlite');
  const { customers, orders } = options;
  await createSampleErp({ target: { type: 'sqlite', file: erp }, customers, orders });
  const configDir = join(folder, 'config');
  await mkdir(configDir);
  const { password, ...store } = options.store ?? { type: 'sqlite', file: join(folder, 'waybill.sqlite') };
  const secrets = { WAYBILL_SERVICE_TOKEN: 'sandbox-token', ...(password && { WAYBILL_STORE_PASSWORD: password }) };
  await writeFile(
    join(configDir, 'local.yaml'),
    JSON.stringify({
      ...sampleErpMapping,
      installation: options.installation,
      erp: { ...sampleErpMapping.erp, type: 'sqlite', file: erp },
      store: { witnessFile: join(folder, 'witness.json'), ...store },
      service: {
        environment: 'sandbox',
        baseUrl: sandbox.url,
        idempotency: { lifetimeHours: 24 },
        ...options.service,
      },
      ...options.settings,
    }),
  );
  const main = fileURLToPath(new URL('../src/main.js', import.meta.url));
  const env = { PATH: process.env.PATH, HOME: folder, ...secrets };
  let daemon: { kill(signal: NodeJS.Signals): void; ended: Promise<unknown> } | null = null;
  const lab: DaemonLab = {
    sandbox,
    start() {
      const child = spawn(process.execPath, [main, 'daemon', '--config', configDir], {
        cwd: folder,
        env,
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      daemon = { kill: (signal) => child.kill(signal), ended: once(child, 'exit') };
    },
    async end(signal) {
      daemon?.kill(signal);
      await daemon?.ended;
    },
    async lookBack(read) {
      Object.assign(process.env, secrets);
      const app = await openApp({ configDir, role: 'bench', log: 'stderr', readOnly: true });
      try {
        return await app.store.read('look back', read);
      } finally {
        await app.close();
        for (const name of Object.keys(secrets)) delete process.env[name];
      }
    },
  };
  try {
    return await measure(lab);
  } finally {
    await lab.end('SIGKILL');
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** @throws when it does not happen in time */
export async function until(done: () => boolean, withinMs: number, what: string): Promise<void> {
  const endsAt = performance.now() + withinMs;
  while (!done()) {
    if (performance.now() > endsAt) throw new Error(`It did not happen within ${withinMs} ms: ${what}`);
    await sleep(10);
  }
}
