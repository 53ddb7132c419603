import { parseNamedParameters } from '../model/named-parameters.js';
import { writeBackColumns, writeBackKinds } from '../model/write-back.js';
import type { Partly, Report } from './cross-problem.js';
import type { Settings } from './settings.js';

/** The account that writes is never the one that reads, and a statement names only what there is. */
export function checkWriteBack({ writeBack, erp, orders, customers }: Partly<Settings>, report: Report): void {
  if (writeBack?.enabled !== true) return;
  if (erp?.type === 'mysql') {
    const isSamePlace = (writeBack.host ?? erp.host) === erp.host && (writeBack.port ?? erp.port) === erp.port;
    if (writeBack.user === undefined)
      report('writeBack.user', 'required, but not set', {
        allowed: 'an account of its own, because writeBack.enabled is true',
      });
    else if (writeBack.user === erp.user && isSamePlace)
      report('writeBack.user', 'is the account that reads the ERP', {
        found: writeBack.user,
        allowed: 'another account than erp.user, which may only SELECT',
      });
  }
  for (const kind of writeBackKinds) {
    const target = writeBack[kind];
    if (target?.enabled === false) continue;
    if (target?.gone !== undefined && target.upsert === undefined)
      report(`writeBack.${kind}.gone`, 'is given without upsert', {
        allowed: 'both statements, or neither and the side table',
      });
    const keyColumns = { orders: orders?.key, customers: customers?.key, invoices: undefined }[kind]?.length ?? 0;
    const known: string[] = [
      ...writeBackColumns[kind],
      ...Array.from({ length: keyColumns }, (_, index) => `key_${index + 1}`),
    ];
    for (const name of ['upsert', 'gone'] as const) {
      const statement = target?.[name];
      if (statement === undefined) continue;
      const unknown = parseNamedParameters(statement, erp?.type === 'mysql').names.filter(
        (one) => !known.includes(one),
      );
      if (unknown.length > 0)
        report(`writeBack.${kind}.${name}`, 'has parameters that nothing fills', {
          found: unknown.map((one) => `:${one}`).join(', '),
          allowed: known.map((one) => `:${one}`).join(', '),
        });
    }
  }
}
