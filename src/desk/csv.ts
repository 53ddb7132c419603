import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import type { FastifyReply } from 'fastify';
import { harmlessLine, redact } from '../model/redact.js';

interface Sheet {
  name: string;
  head: readonly string[];
  secrets: readonly string[];
  /** The column that is added up; absent: none. */
  sumOf?: number;
}

/** An amount is a number: a text below zero would be disarmed like a formula. */
type Cell = string | number | bigint | null;

type Read<Place> = (after: Place | null) => Promise<
  | { rows: Cell[][]; next: Place | null }
  /** Why what was read until now is worth nothing. */
  | { broken: string }
>;

/**
 * Sends everything that matches, page by page, so that a million rows are never in memory. The last line says how many rows there
 * are, what the amounts come to, and the SHA-256 of all lines before it: a file that was cut off has none, nor has one that is no
 * list of any moment, whose last line says why.
 */
export function sendCsv<Place>(reply: FastifyReply, sheet: Sheet, read: Read<Place>): FastifyReply {
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="waybill-${sheet.name}.csv"`)
    .send(Readable.from(lines(sheet, read)));
}

async function* lines<Place>({ head, secrets, sumOf }: Sheet, read: Read<Place>): AsyncGenerator<string> {
  const hash = createHash('sha256');
  const clean = (cell: Cell) => (typeof cell === 'string' ? harmlessLine(redact(cell, secrets)) : cell);
  const textOf = (rows: readonly (readonly Cell[])[]) => {
    // A spreadsheet would run `=HYPERLINK(…)` in a text that came from the ERP or the service.
    const text = stringify(
      rows.map((row) => row.map(clean)),
      { escape_formulas: true },
    );
    hash.update(text);
    return text;
  };
  yield textOf([head]);
  let count = 0;
  let sum = 0n;
  for (let place: Place | null = null; ; ) {
    const page: Awaited<ReturnType<Read<Place>>> = await read(place);
    if ('broken' in page) {
      yield stringify([['not whole', `${page.broken} Nothing above may be used: download it again.`]]);
      return;
    }
    count += page.rows.length;
    if (sumOf !== undefined) for (const row of page.rows) sum += BigInt(row[sumOf] ?? 0);
    if (page.rows.length > 0) yield textOf(page.rows);
    if (page.next === null) break;
    place = page.next;
  }
  const control = ['control', `rows ${count}`, ...(sumOf === undefined ? [] : [`sum ${sum}`])];
  yield stringify([[...control, `sha256 ${hash.digest('hex')}`]]);
}
