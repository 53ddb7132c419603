import { z } from 'zod';
import { secret } from './value-types.js';

/**
 * How a database on a MySQL or MariaDB server is reached; the ERP and the store are described alike.
 * @param meanings what is particular to one of them, and the name of its credential under systemd
 */
export function mysqlConnection(meanings: { host: string; database: string; user: string; credential: string }) {
  return {
    host: z.string().min(1).default('127.0.0.1').describe(meanings.host),
    port: z.number().int().min(1).max(65535).default(3306).describe('Port of that server.'),
    database: z.string().min(1).describe(meanings.database),
    user: z.string().min(1).describe(meanings.user),
    password: secret.optional().describe('Password of that account. Only from the environment; prefer passwordFile.'),
    passwordFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        `File that holds the password, relative to the configuration folder; credential \`${meanings.credential}\` under systemd.`,
      ),
  };
}
