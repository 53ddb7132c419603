import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { ConfigurationError, type ConfigurationProblem } from '../../src/config/configuration-error.js';
import { type LoadedSettings, loadSettings } from '../../src/config/load-settings.js';

type Tree = Record<string, unknown>;

/** A configuration without a mistake, to make mistakes in. */
export function validSettings() {
  return {
    installation: 'test-office',
    erp: { type: 'mysql', database: 'erp', user: 'reader', timeZone: 'Europe/Berlin' } as Tree,
    customers: { query: 'SELECT * FROM customers', key: 'id', fields: { customer_code: 'code' } } as Tree,
    orders: {
      query: 'SELECT * FROM sales_orders',
      key: 'id',
      startFrom: { column: 'created_at', from: '2026-01-01' },
      customerKey: 'customer_id',
      number: 'order_no',
      lines: {
        query: 'SELECT * FROM sales_order_lines',
        orderKey: 'order_id',
        sortBy: 'line_no',
        fields: { sku: 'sku', qty: 'quantity', price: 'unit_price' },
      } as Tree,
    } as Tree,
    amounts: { currency: 'EUR' } as Tree,
    service: { environment: 'sandbox', baseUrl: 'https://sandbox.example.com' } as Tree,
  } as Record<string, Tree | string> & Record<'erp' | 'customers' | 'orders' | 'amounts' | 'service', Tree>;
}

/** The environment of every test, and nothing else: the machine's own variables stay outside. */
export const tokenInEnvironment = { WAYBILL_SERVICE_TOKEN: 'token-for-tests' };

const folders: string[] = [];

/** A folder of its own with these files; objects are written as YAML. */
export function folderWith(files: Record<string, string | object>): string {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-config-'));
  folders.push(folder);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), typeof content === 'string' ? content : stringify(content), { mode: 0o600 });
  }
  return folder;
}

export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export function load(settings: object, env: NodeJS.ProcessEnv = tokenInEnvironment): LoadedSettings {
  return loadSettings({ configDir: folderWith({ 'local.yaml': settings }), env });
}

export function errorOf(run: () => unknown): ConfigurationError {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error('expected a ConfigurationError, but nothing was wrong');
}

export function problemsOf(settings: object, env?: NodeJS.ProcessEnv): readonly ConfigurationProblem[] {
  return errorOf(() => load(settings, env)).problems;
}

export const pathsOf = (problems: readonly ConfigurationProblem[]) => problems.map(({ path }) => path);
