import type { Readable } from 'node:stream';
import { AxiosError, type AxiosResponse } from 'axios';

export const deadlineCode = 'ERR_CANCELED';

/** Reads a body as UTF-8 text, bounded and within the deadline. What breaks off keeps its status (`response` on the error). */
export async function readBody(
  stream: Readable,
  maxBytes: number,
  deadline: AbortSignal,
  response: AxiosResponse,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const abort = () => stream.destroy(new AxiosError('the deadline passed while the body was coming in', deadlineCode));
  deadline.addEventListener('abort', abort, { once: true });
  if (deadline.aborted) abort();
  try {
    for await (const chunk of stream) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) throw new AxiosError(`the body is larger than ${maxBytes} bytes`, 'WAYBILL_BODY_TOO_LARGE');
      chunks.push(chunk as Buffer);
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch (cause) {
    const error = AxiosError.from(cause as Error, (cause as { code?: string }).code, response.config);
    error.response = response;
    throw error;
  } finally {
    deadline.removeEventListener('abort', abort);
    stream.destroy();
  }
}
