import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { harmlessLine, redact } from '../model/redact.js';
import type { Cause } from '../operator/reconcile/name-finding.js';
import { periodOf } from '../operator/reconcile/period.js';
import { lastRun, listFindings, type Reconciliation, readRun, subjects } from '../operator/reconcile/reconcile-rows.js';
import { countRepairs, freshMs } from '../operator/reconcile/repair.js';
import { detailOf, summaryOf } from '../operator/reconcile/summary.js';
import {
  findingsCsv,
  measure,
  type ReportEnd,
  type ReportParts,
  reportName,
  reportPage,
  sumsCsv,
} from '../telling/report.js';
import { findingCauses } from '../words/en/reconcile.js';
import { tell } from '../words/words.js';
import { sendCsv } from './csv.js';
import { queryOf } from './filters.js';
import { refuse } from './guard.js';
import { Reconcile } from './pages/reconcile.js';
import { type DeskTools, personOf } from './tools.js';

const rowsOnPage = 50;
const rowsInCsv = 500;

function causeIn(query: URLSearchParams): Cause[] | undefined {
  const cause = (Object.keys(findingCauses) as Cause[]).find((one) => one === query.get('cause'));
  return cause && [cause];
}

function numberIn(query: URLSearchParams, name: string): number | null {
  const text = query.get(name) ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The comparison that an address names, otherwise the last one of its kind. */
async function runOf(query: URLSearchParams, { parts }: DeskTools): Promise<Reconciliation | null> {
  const subject = subjects.find((one) => one === query.get('subject')) ?? 'orders';
  const id = numberIn(query, 'run');
  return parts.context.store.read('look for a comparison', (tx) =>
    id === null ? lastRun(tx, subject) : readRun(tx, id),
  );
}

/** The findings of the last comparison, page by page. */
export async function showReconcile(
  request: FastifyRequest,
  reply: FastifyReply,
  tools: DeskTools,
): Promise<FastifyReply> {
  const { context } = tools.parts;
  const { settings } = context;
  const query = queryOf(request);
  const run = await runOf(query, tools);
  const causes = causeIn(query);
  const afterId = numberIn(query, 'after') ?? 0;
  const which = { afterId, limit: rowsOnPage + 1, ...(causes && { causes }) };
  const summary = run && (await summaryOf(context, run, which));
  const repairs = run?.state === 'done' ? await countRepairs(context, run) : null;
  const content = (
    <Reconcile
      {...{ base: tools.base, query, run, summary, repairs, settings }}
      rows={summary?.findings.slice(0, rowsOnPage) ?? []}
      next={summary && summary.findings.length > rowsOnPage ? (summary.findings[rowsOnPage - 1]?.id ?? null) : null}
      mayAct={personOf(request).role === 'act'}
      isFresh={(run?.endedAt ?? 0) > context.nowMs() - freshMs}
    />
  );
  return tools.page(request, reply, { title: 'Reconcile', content });
}

/** The same list as CSV. */
export async function sendFindings(
  request: FastifyRequest,
  reply: FastifyReply,
  tools: DeskTools,
): Promise<FastifyReply> {
  const { store } = tools.parts.context;
  const query = queryOf(request);
  const run = await runOf(query, tools);
  if (run === null) return refuse(reply, 404, 'There is no such comparison.');
  const causes = causeIn(query);
  const head = ['kind', 'cause', 'entity', 'key', 'number', 'serviceId', 'day', 'currency', 'erpTotal', 'serviceTotal'];
  return sendCsv(
    reply,
    { name: 'reconcile', head: [...head, 'difference'], secrets: tools.parts.secrets },
    async (after: number | null) => {
      const rows = await store.read('read what was found', (tx) =>
        listFindings(tx, run.id, { afterId: after ?? 0, limit: rowsInCsv, ...(causes && { causes }) }),
      );
      return {
        next: rows.length < rowsInCsv ? null : (rows.at(-1)?.id ?? null),
        rows: rows.map((one) => [
          one.kind,
          one.cause,
          one.entity,
          one.sourceKey,
          one.number,
          one.serviceId,
          one.day,
          one.currency,
          one.erpTotal && BigInt(one.erpTotal),
          one.serviceTotal && BigInt(one.serviceTotal),
          tell(detailOf(one)),
        ]),
      };
    },
  );
}

/** A file of the report to be filed: the one that `waybill reconcile --report` writes. */
export async function sendReport(
  request: FastifyRequest,
  reply: FastifyReply,
  tools: DeskTools,
): Promise<FastifyReply> {
  const { file } = request.params as { file: string };
  const end = ends.get(file);
  const run = await runOf(queryOf(request), tools);
  if (end === undefined || run?.state !== 'done') return refuse(reply, 404, 'There is no such report.');
  const { store, settings } = tools.parts.context;
  const parts: ReportParts = {
    store,
    settings,
    time: tools.time,
    clean: (text) => harmlessLine(redact(text, tools.parts.secrets)),
  };
  const period = periodOf(run);
  const named = (one: ReportEnd) => reportName(run, period, one);
  const made = async () => {
    if (end === '-differences.csv') return findingsCsv(parts, run);
    if (end === '-sums.csv') return sumsCsv(parts, run);
    const files = [
      await measure(named('-differences.csv'), findingsCsv(parts, run)),
      await measure(named('-sums.csv'), sumsCsv(parts, run)),
    ];
    return reportPage(parts, run, { period, files });
  };
  const written = await made();
  return reply
    .type(end === '.html' ? 'text/html; charset=utf-8' : 'text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${named(end)}"`)
    .send(Readable.from(textsOf(written)));
}

const ends: ReadonlyMap<string, ReportEnd> = new Map([
  ['report.html', '.html'],
  ['differences.csv', '-differences.csv'],
  ['sums.csv', '-sums.csv'],
]);

async function* textsOf(parts: AsyncIterable<{ text: string }>): AsyncGenerator<string> {
  for await (const { text } of parts) yield text;
}
