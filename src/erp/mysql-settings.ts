import type { ErpSettings } from '../config/erp-settings.js';

export type MysqlSettings = Extract<ErpSettings, { type: 'mysql' }>;

/** Names the database that is read, without the account that reads it. */
export function identityOf({ host, port, database }: MysqlSettings): string {
  return `mysql://${host}:${port}/${database}`;
}
