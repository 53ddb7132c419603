import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/** The last words of PostgreSQL to a session that `pg_terminate_backend` or its own shutdown ends. */
const fields = ['SFATAL', 'VFATAL', 'C57P01', 'Mterminating connection due to administrator command', ''].join('\0');
const lastWords = Buffer.from(`E\0\0\0${String.fromCharCode(fields.length + 5)}${fields}\0`, 'latin1');
const readyForQuery = Buffer.from('Z\0\0\0\x05I', 'latin1');

/** Stands before a PostgreSQL server that ends each session as it begins, while `endsSessions` says so. */
export class LastWordsProxy {
  endsSessions = false;
  /** Sessions that it ended. */
  ended = 0;
  readonly #server = createServer((near) => {
    const far = connect(this.target);
    let hasBegun = false;
    near.on('data', (chunk) => far.write(chunk));
    far.on('data', (chunk) => {
      const begins = !hasBegun && chunk.subarray(-readyForQuery.length).equals(readyForQuery);
      hasBegun ||= begins;
      if (!begins || !this.endsSessions) return void near.write(chunk);
      this.ended++;
      // In one piece, so that both are read in the same turn.
      near.end(Buffer.concat([chunk, lastWords]));
      far.destroy();
    });
    near.on('error', () => undefined).on('close', () => far.destroy());
    far.on('error', () => undefined).on('close', () => near.end());
  });

  constructor(private readonly target: { host: string; port: number }) {}

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async open(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** Once every session is closed. */
  async close(): Promise<void> {
    this.#server.close();
    await once(this.#server, 'close');
  }
}
