import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { run } from '../../../src/cli/run.js';
import { loadSettings } from '../../../src/config/load-settings.js';
import type { Settings } from '../../../src/config/settings.js';
import type { ErpPage, ReadCustomer, ReadOrder } from '../../../src/erp/erp-reader.js';
import { openErpReader } from '../../../src/erp/open-erp.js';
import { resolveOptions } from '../../../src/lab/sandbox/options.js';
import { checkRecord } from '../../../src/lab/sandbox/request-rules.js';
import { type OrderRecord, orderTotal } from '../../../src/model/record.js';
import { capturingOutput, type Printed } from '../../cli/installation.js';
import { problemsInWords } from '../../erp/problems-in-words.js';

/** Runs `waybill init --yes` into a folder, without a terminal. */
export async function init(configDir: string, ...flags: readonly string[]): Promise<Printed> {
  const printed = await capturingOutput(() =>
    run(['node', 'waybill', 'init', '--config', configDir, '--yes', ...flags]),
  );
  const file = flags[flags.indexOf('--password-file') + 1];
  if (flags.includes('--password-file'))
    expect(JSON.stringify(printed)).not.to.contain(readFileSync(file ?? '', 'utf8'));
  return printed;
}

/** As `init`, with `--json`. */
export async function initJson(configDir: string, ...flags: readonly string[]) {
  const { code, stdout, stderr } = await init(configDir, ...flags, '--json');
  expect(stderr).to.equal('');
  return { code, ...JSON.parse(stdout) };
}

/** The open questions by their flags: `status`, `column line.qty`. */
export const questionsOf = ({ open = [] }: { open?: { name: string; role?: string }[] }) =>
  open.map(({ name, role }) => (role === undefined ? name : `${name} ${role}`));

/** The result of the written configuration: the records that the stand-in takes, in files that nobody else may read. */
export async function recordsBy(configDir: string) {
  const { settings, warnings } = loadSettings({ configDir, env: {} });
  expect(warnings).to.deep.equal([]);
  for (const name of ['local.yaml', 'service-token'])
    expect(statSync(join(configDir, name)).mode & 0o777, name).to.equal(0o600);
  expect(readFileSync(join(configDir, 'local.yaml'), 'utf8')).not.to.match(/password: |token: /);
  return { settings, ...(await recordsOf(settings)) };
}

/** The records that these settings make. */
export async function recordsOf(settings: Settings) {
  const reader = await openErpReader(settings);
  try {
    await reader.check();
    const orders: ReadOrder[] = [];
    const customers = new Map<string, ReadCustomer>();
    for (let after: string[] | null = null, more = true; more; ) {
      const page: ErpPage<ReadOrder> = await reader.sweep('order', after, 50);
      orders.push(...page.rows);
      for (const customer of page.customers) customers.set(customer.sourceKey, customer);
      more = page.more;
      after = page.last?.key ?? null;
    }
    const records = new Map<string, OrderRecord>();
    const parked = new Map<string, string>();
    for (const { sourceKey, content, totals } of orders) {
      const differs = totals !== null && totals.lines !== totals.header;
      if (differs) parked.set(sourceKey, `its lines come to ${totals.lines}, its header says ${totals.header}`);
      else if (content.mapped) {
        checkRecord('order', { ...content.record }, 'create', resolveOptions({}));
        records.set(sourceKey, content.record);
      } else parked.set(sourceKey, problemsInWords(content));
    }
    const totals = Object.fromEntries([...records].map(([key, record]) => [key, Number(orderTotal(record.items))]));
    const customerRecords = [...customers.values()].map(({ content }) =>
      content.mapped ? content.record : problemsInWords(content),
    );
    return { records, parked, totals, customers: customerRecords };
  } finally {
    await reader.close();
  }
}
