import type { AccountJudgement, StoreAccount } from '../store-dialect.js';
import { grantIn } from './mysql-catalogue.js';

export const mysqlStoreAccount: StoreAccount = { ask: () => 'SHOW GRANTS', judge: judgeMysql };

/** The rights that migrations and the work itself need. */
const needed = ['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'CREATE', 'ALTER', 'DROP', 'INDEX'];

/** Pure. @param rows what SHOW GRANTS says */
export function judgeMysql(rows: readonly Readonly<Record<string, unknown>>[], database: string): AccountJudgement {
  const grants = rows.flatMap((row) => grantIn(String(Object.values(row)[0])) ?? []);
  const account = grants[0]?.account ?? 'CURRENT_USER';
  const place = `\`${database.replaceAll('`', '``')}\`.*`;
  const isOwn = (on: string) => on === `${database}.*` || on.replaceAll('\\', '') === `${database}.*`;
  const has = new Set(grants.filter(({ on }) => on === '*.*' || isOwn(on)).flatMap(({ rights }) => rights));
  const lacks = has.has('ALL PRIVILEGES') ? [] : needed.filter((right) => !has.has(right));
  const isInStore = (on: string) => isOwn(on) || on.replaceAll('\\', '').startsWith(`${database}.`);
  const elsewhere = grants.filter(({ on, rights }) => !isInStore(on) && rights.some((right) => right !== 'USAGE'));
  return {
    lacks,
    grants: [`GRANT ${lacks.join(', ')} ON ${place} TO ${account};`],
    exceeds: elsewhere.map(({ on, rights }) => `${rights.join(', ')} on ${on}`),
    revokes: [
      `REVOKE ALL PRIVILEGES, GRANT OPTION FROM ${account};`,
      `GRANT ${needed.join(', ')} ON ${place} TO ${account};`,
    ],
  };
}
