import type { StoreSettings } from '../../../config/sections/store.js';
import { storeDialect } from '../../../db/databases.js';
import type { AccountJudgement } from '../../../db/store-dialect.js';
import { isInFile } from '../../../model/database-place.js';
import { storeDataSource } from '../../../store/data-source.js';
import { schemaTables } from '../../../store/schema.js';
import { type Finding, findingsOf, listed } from './finding.js';

const finding = findingsOf('store');

/** The store's server is asked for the account's rights. Nothing is written. */
export async function checkStoreAccount(settings: StoreSettings): Promise<Finding[]> {
  const { account } = await storeDialect(settings);
  if (account === null || isInFile(settings)) return [];
  const tables = ['migration', ...Object.keys(schemaTables)];
  const dataSource = await (await storeDataSource(settings, true)).initialize();
  try {
    return inWords(account.judge(await dataSource.query(account.ask(tables)), settings.database));
  } finally {
    await dataSource.destroy();
  }
}

function inWords({ lacks, grants, exceeds, revokes }: AccountJudgement): Finding[] {
  return [
    ...(lacks.length > 0
      ? [
          finding(
            'error',
            `The account of the store may not do all that it has to: it lacks ${listed(lacks)}.`,
            ...grants,
          ),
        ]
      : []),
    ...(exceeds.length > 0
      ? [finding('warning', `The account of the store may do more than it has to: ${listed(exceeds)}.`, ...revokes)]
      : []),
    ...(lacks.length + exceeds.length === 0
      ? [finding('ok', 'The account of the store may do what it has to, and nothing elsewhere.')]
      : []),
  ];
}
