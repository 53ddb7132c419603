import type { Client, QueryArrayConfig, QueryArrayResult } from 'pg';
import type { Secret } from '../../model/secret.js';
import { connectTimeoutMs, graceMs, pingTimeoutMs, type ServerAccount } from '../server.js';
import { SingleConnection } from '../single-connection.js';
import { PostgresClient } from './client.js';
import { postgresOptions } from './options.js';
import { checkSettings, sessionSettings, setSettings } from './session.js';

/** A process that is frozen in the middle of a transaction must not hold back the server's VACUUM, or a lock. */
const IDLE_LIMIT_MS = 60_000;

/** Values as the server writes them: nothing passes through a float or a Date. */
const asWritten = { getTypeParser: () => (text: string) => text } as never;

/** A session on PostgreSQL, for one task after the other. */
export abstract class PostgresConnection extends SingleConnection<Client> {
  /** A database in SQL_ASCII takes any bytes for a text. */
  protected takesAnyBytes = false;

  constructor(private readonly account: ServerAccount) {
    super();
  }

  /** The database, without the account. */
  identity(): string {
    const { host, port, database } = this.account;
    return `postgres://${host}:${port}/${database}`;
  }

  /** One statement, by the protocol that takes no more than one. */
  protected ask(client: Client, text: string, values: readonly (string | null)[], limitMs: number) {
    const statement = {
      text,
      values,
      rowMode: 'array',
      types: asWritten,
      query_timeout: limitMs,
      queryMode: 'extended',
    };
    return client.query(statement as unknown as QueryArrayConfig) as Promise<QueryArrayResult<(string | null)[]>>;
  }

  /** Begins a transaction with its settings, and checks them. @throws SessionRefused */
  protected async begin(client: Client, kind: string, timeoutMs: number, timeZone: string): Promise<void> {
    const settings = sessionSettings({
      // Times without a zone are those of the ERP, in its queries as well as in ours.
      TimeZone: timeZone,
      statement_timeout: `${Math.ceil(timeoutMs)}`,
      // Below the other limit, so that a lock is not taken for a slow query.
      lock_timeout: `${Math.ceil(timeoutMs / 2)}`,
      idle_in_transaction_session_timeout: `${IDLE_LIMIT_MS}`,
      // Else the server would refuse a whole page for one text that is none.
      ...(this.takesAnyBytes ? { client_encoding: 'SQL_ASCII' } : {}),
    });
    const text = `BEGIN ${kind};${setSettings(settings, 'transaction')}`;
    const message = { text, rowMode: 'array', types: asWritten, query_timeout: graceMs };
    const answers: unknown = await client.query(message as never);
    checkSettings(settings, (answers as QueryArrayResult<(string | null)[]>[]).at(-1)?.rows[0] ?? []);
  }

  protected async open(): Promise<Client> {
    const client = new PostgresClient({ ...postgresOptions(this.account), connectionTimeoutMillis: connectTimeoutMs });
    // Without a listener, a connection that breaks while idle would end the process. The next task finds out.
    client.on('error', () => {});
    try {
      await client.connect();
      const { rows } = await this.ask(client, "SELECT current_setting('server_encoding')", [], connectTimeoutMs);
      this.takesAnyBytes = rows[0]?.[0] === 'SQL_ASCII';
      return client;
    } catch (error) {
      this.destroy(client);
      throw error;
    }
  }

  protected get password(): Secret | undefined {
    return this.account.password;
  }

  protected ping(client: Client): Promise<unknown> {
    return this.ask(client, 'SELECT 1', [], pingTimeoutMs);
  }

  protected end(client: Client): Promise<void> {
    return client.end();
  }

  /** The driver cuts the connection if a statement is under way. */
  protected destroy(client: Client): void {
    void client.end();
  }
}
