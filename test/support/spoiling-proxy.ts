import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

const rowDescription = 'T'.charCodeAt(0);

/** Stands before a PostgreSQL server, whose descriptions of rows name more columns than they have, while `spoils` says so. */
export class SpoilingProxy {
  spoils = false;
  readonly #server = createServer((near) => {
    const far = connect(this.target);
    near.on('data', (chunk) => far.write(chunk));
    far.on('data', (chunk) => {
      // Answers of a few rows come in one piece.
      for (let at = 0; this.spoils && at + 7 <= chunk.length; at += chunk.readInt32BE(at + 1) + 1)
        if (chunk[at] === rowDescription) chunk.writeInt16BE(1_000, at + 5);
      near.write(chunk);
    });
    near.on('error', () => undefined).on('close', () => far.destroy());
    far.on('error', () => undefined).on('close', () => near.end());
  });

  constructor(private readonly target: { host: string; port: number }) {}

  async open(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  /** Once every session is closed. */
  async close(): Promise<void> {
    this.#server.close();
    await once(this.#server, 'close');
  }
}
