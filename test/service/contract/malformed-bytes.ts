import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { VerdictKind } from '../../../src/model/verdict.js';
import { acknowledgement } from '../wire-client.js';

export const json = JSON.stringify(acknowledgement);
export const head = (status: string, ...headers: string[]) => [`HTTP/1.1 ${status}`, ...headers, '', ''].join('\r\n');
export const whole = head('201 Created', `Content-Length: ${json.length}`) + json;
export const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

/** The interim answers that a service may send first (RFC 9110, 15.2). */
export const interim = head('100 Continue');
const early = head('103 Early Hints', 'Link: </style.css>; rel=preload');

function drip(socket: Socket, text: string): void {
  const pieces = text.match(/[\s\S]{1,7}/g) ?? [];
  const timer = setInterval(
    () => (pieces.length > 0 ? socket.write(pieces.shift() as string) : clearInterval(timer)),
    1,
  );
}

const zipped = gzipSync(json);
export const gzipHead = (length: number) => head('201 Created', 'Content-Encoding: gzip', `Content-Length: ${length}`);
/** Answers that only a socket can give, and what they prove. */
export const malformedBytes: readonly [title: string, (socket: Socket) => void, VerdictKind][] = [
  ['an answer in many pieces', (s) => void [...whole].map((c) => s.write(c)), 'delivered'],
  [
    'chunks',
    (s) => s.write(`${head('201 Created', 'Transfer-Encoding: chunked')}${chunk(json)}0\r\n\r\n`),
    'delivered',
  ],
  ['a body that ends with the connection', (s) => s.end(head('201 Created', 'Connection: close') + json), 'delivered'],
  ['a compressed body', (s) => s.write(Buffer.concat([Buffer.from(gzipHead(zipped.length)), zipped])), 'delivered'],
  ['an interim answer before', (s) => s.write(`HTTP/1.1 102 Processing\r\n\r\n${whole}`), 'delivered'],
  ['100 Continue that nobody asked for', (s) => s.write(interim + whole), 'delivered'],
  [
    '100 Continue, and the answer apart',
    (s) => s.write(interim, () => setTimeout(() => s.write(whole), 20)),
    'delivered',
  ],
  ['several interim answers, in many pieces', (s) => drip(s, `${interim}${early}${interim}${whole}`), 'delivered'],
  [
    '100 Continue, and a body that begins like it',
    (s) => s.write(`${interim}${head('201 Created', 'Content-Length: 25')}${interim}`),
    'invalid',
  ],
  ['100 Continue, and nothing', (s) => s.end(interim), 'in_doubt'],
  ['half of 100 Continue', (s) => s.end(interim.slice(0, 10)), 'in_doubt'],
  [
    '100 Continue with headers without an end',
    (s) => s.write(`${interim.slice(0, -2)}X-A: ${'a'.repeat(100_000)}`),
    'in_doubt',
  ],
  ['another protocol', (s) => s.write(`HTTP/1.1 101 Switching Protocols\r\n\r\n${whole}`), 'in_doubt'],
  ['half of the promised length', (s) => s.end(whole.slice(0, -30)), 'in_doubt'],
  [
    'a chunk that breaks off',
    (s) => s.end(`${head('201 Created', 'Transfer-Encoding: chunked')}ff\r\n${json.slice(0, 20)}`),
    'in_doubt',
  ],
  [
    'chunks without an end',
    (s) => s.end(`${head('201 Created', 'Transfer-Encoding: chunked')}${chunk(json)}`),
    'in_doubt',
  ],
  [
    'a compressed body that breaks off',
    (s) => s.end(Buffer.concat([Buffer.from(gzipHead(zipped.length)), zipped.subarray(0, 30)])),
    'in_doubt',
  ],
  ['a body that only says it is compressed', (s) => s.write(gzipHead(json.length) + json), 'in_doubt'],
  ['a 400 that breaks off', (s) => s.end(`${head('400 Bad', 'Content-Length: 100')}{"error"`), 'in_doubt'],
  ['a 409 that breaks off', (s) => s.end(`${head('409 No', 'Content-Length: 100')}{"error"`), 'in_doubt'],
  ['nothing', (s) => s.end(), 'in_doubt'],
  ['half of the headers', (s) => s.end('HTTP/1.1 201 Crea'), 'in_doubt'],
  ['no HTTP', (s) => s.end('220 smtp.example.com ESMTP\r\n'), 'in_doubt'],
  ['headers without an end', (s) => s.end(`HTTP/1.1 201 Created\r\nX-A: ${'a'.repeat(100_000)}`), 'in_doubt'],
  ['two lengths', (s) => s.end(head('201 Created', 'Content-Length: 5', 'Content-Length: 7') + json), 'in_doubt'],
  [
    'bytes that are no UTF-8',
    (s) =>
      s.write(Buffer.concat([Buffer.from(head('201 Created', 'Content-Length: 3')), Buffer.from([0x7b, 0xff, 0x7d])])),
    'invalid',
  ],
];
