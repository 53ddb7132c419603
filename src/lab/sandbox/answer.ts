import type { StoredRecord } from './record-store.js';

/** What the service says, before it is put on the wire. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  /** Sent as JSON. Undefined together with `text`: an empty body. */
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  text?: string;
  /** The record that the request concerned, so that the ledger can say which requests touched it. */
  touched?: StoredRecord;
}

/** Thrown wherever a request is found wanting; becomes the answer `{error:{code,message}}`. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** What the error says besides. */
    readonly more: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = 'Refusal';
  }

  toAnswer(): Answer {
    return { status: this.status, body: { error: { code: this.code, message: this.message, ...this.more } } };
  }
}

/** How an error is written: the shapes that services of this kind are seen to use. */
export type ErrorShape = 'nested' | 'problem' | 'message' | 'errors' | 'text' | 'html';

interface NestedError {
  code: string;
  message: string;
}

/** The same answer with its error in another shape. Whatever is no `{error:{code,message}}` stays as it is. */
export function inShape(answer: Answer, shape: ErrorShape): Answer {
  const error = (answer.body as { error?: NestedError } | undefined)?.error;
  if (shape === 'nested' || answer.status < 400 || typeof error?.code !== 'string') return answer;
  const { code, message, ...more } = error;
  const { body: _, ...rest } = answer;
  const typed = (type: string, content: { body: unknown } | { text: string }): Answer => ({
    ...rest,
    headers: { ...answer.headers, 'content-type': type },
    ...content,
  });
  switch (shape) {
    case 'problem': {
      const body = { type: 'about:blank', title: message, status: answer.status, detail: message, code, ...more };
      return typed('application/problem+json', { body });
    }
    case 'message':
      return { ...rest, body: { message, ...more } };
    case 'errors':
      return { ...rest, body: { errors: [{ code, message }], ...more } };
    case 'text':
      return typed('text/plain; charset=utf-8', { text: `${message}\r\n` });
    case 'html':
      return typed('text/html; charset=utf-8', {
        text: `<!doctype html><html><head><style>p{}</style></head><body><h1>${answer.status}</h1><p>${escaped(message)}</p></body></html>`,
      });
  }
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
