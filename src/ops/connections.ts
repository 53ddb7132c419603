import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * At most so many at once. Connections that have not sent a whole request make room, the longest first: a stranger who
 * opens connections and is silent, or sends drop by drop, can not keep out a sender that has something to say.
 */
export class Connections {
  readonly #open = new Set<Socket>();
  /** Those that no whole request has come from, in the order in which they began to wait for one. */
  readonly #waiting = new Set<Socket>();

  constructor(private readonly most: number) {}

  add(socket: Socket): void {
    this.#open.add(socket);
    this.#waiting.add(socket);
    socket.once('close', () => this.#remove(socket));
    const [longest] = this.#waiting;
    if (this.#open.size <= this.most || longest === undefined) return;
    this.#remove(longest);
    longest.destroy();
  }

  /** A whole request has come; the connection waits for another one when it is answered. */
  serves(socket: Socket, response: ServerResponse): void {
    this.#waiting.delete(socket);
    response.once('close', () => {
      if (this.#open.has(socket)) this.#waiting.add(socket);
    });
  }

  #remove(socket: Socket): void {
    this.#open.delete(socket);
    this.#waiting.delete(socket);
  }
}
