import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

/** Not 101: after it the connection would speak another protocol, which undici refuses. */
const status = 'HTTP/1\\.\\d 1(?!01)\\d\\d';
const beginning = new RegExp(`^${status}`);
const whole = new RegExp(`^${status}[^\\r\\n]*\\r?\\n(?:[^\\r\\n]+\\r?\\n)*\\r?\\n`);
const protocol = 'HTTP/1.';
const statusBytes = 'HTTP/1.1 100'.length;
const digitOne = '1'.charCodeAt(0);
/** A longer one is handed on as it is, and undici refuses it. */
const maxHeadBytes = 16_384;

/**
 * Connections on which interim answers are passed over. A service or gateway may send them unasked (RFC 9110, 15.2), but undici
 * breaks the connection at `100 Continue`, after the request has left. A connection carries one request at a time, so they can
 * only stand first in what comes after a write.
 */
export function passingInterimAnswers(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...made) => {
      if (made[1]) passInterimAnswers(made[1]);
      callback(...made);
    });
}

function passInterimAnswers(socket: Socket): void {
  const [read, write] = [socket.read.bind(socket), socket.write.bind(socket)];
  let isBeginning = true;
  let kept = '';
  socket.write = ((...written: Parameters<Socket['write']>) => {
    isBeginning = true;
    return write(...written);
  }) as Socket['write'];
  socket.read = () => {
    for (;;) {
      const chunk: Buffer | null = read();
      if (!isBeginning || chunk === null) return chunk;
      // Almost all answers are final, and come in one piece.
      isBeginning = kept !== '' || chunk.length < statusBytes || chunk[statusBytes - 3] === digitOne;
      if (!isBeginning) return chunk;
      kept += chunk.toString('latin1');
      for (let found = whole.exec(kept); found; found = whole.exec(kept)) kept = kept.slice(found[0].length);
      const mayBegin =
        kept.length < statusBytes ? protocol.startsWith(kept.slice(0, protocol.length)) : beginning.test(kept);
      if (mayBegin && kept.length <= maxHeadBytes) continue;
      const rest = Buffer.from(kept, 'latin1');
      isBeginning = false;
      kept = '';
      return rest;
    }
  };
}
