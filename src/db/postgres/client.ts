import type { Duplex } from 'node:stream';
import { Client, type ClientConfig } from 'pg';

/**
 * A session whose server may send anything. pg reads the messages in a listener of its socket, where an exception would
 * end the process; here it ends the connection.
 */
export class PostgresClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    const { connection } = this;
    endWhenUnreadable(connection.stream);
    connection.once('sslconnect', () => endWhenUnreadable(connection.stream));
  }
}

/** The SQLSTATE of a violated protocol, which pg has no code for. */
const protocolViolated = '08P01';

function endWhenUnreadable(stream: Duplex): void {
  const emit = stream.emit.bind(stream);
  stream.emit = (event: string | symbol, ...given: unknown[]) => {
    if (event !== 'data') return emit(event, ...given);
    try {
      return emit(event, ...given);
    } catch (cause) {
      const message = `the server sent what is no message of its protocol (${(cause as Error).message})`;
      stream.destroy(Object.assign(new Error(message, { cause }), { code: protocolViolated }));
      return true;
    }
  };
}
