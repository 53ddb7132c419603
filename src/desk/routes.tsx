import { PassThrough } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { readStatus } from '../daemon/read-status.js';
import { type Entity, sourceNames } from '../model/record.js';
import { offersFor } from '../operator/actions/actions.js';
import { explainRecord, readCaptured } from '../operator/explain-record.js';
import { groupParked } from '../operator/figures/group-parked.js';
import { rangeNames, readSeries } from '../operator/figures/read-figures.js';
import { findRecords, searchRecords } from '../operator/find-records.js';
import { masker, personalValues } from '../operator/values/personal-data.js';
import { knownValues } from '../operator/values/record-values.js';
import { describeUnknown } from '../telling/describe-unknown.js';
import { deskContext } from './actions/asked.js';
import { carryOut, previewAction, showAction } from './actions/handlers.js';
import { queryOf } from './filters.js';
import { type Access, refuse } from './guard.js';
import {
  sendAudit,
  sendInvoices,
  sendOutbox,
  showAudit,
  showInvoices,
  showOutbox,
  showSettings,
  showWebhooks,
} from './lists.js';
import { readiness } from './monitoring/readiness.js';
import { NeedsAPerson } from './pages/needs-a-person.js';
import { Overview } from './pages/overview.js';
import { Record as RecordPage, UnknownRecord } from './pages/record.js';
import { SearchResults } from './pages/search.js';
import { recordPath } from './pages/words.js';
import { sendFindings, sendReport, showReconcile } from './reconcile.js';
import { signIn, signInForm, signInsPerMinute, signOut, switchTheme } from './sign-in.js';
import { sendChartScript, sendPlotScript, sendPlotStyle, sendScript, sendStyle } from './static-files.js';
import { type DeskTools, personOf } from './tools.js';

export interface Route {
  method: 'GET' | 'POST';
  /** Behind the base path, without a slash at its beginning. */
  path: string;
  access: Access;
  /** Most requests a minute, of all people together. */
  mostPerMinute?: number;
  /** Its answer is written bit by bit. HEAD would have all of it made for nothing, and hold a place at `live` for minutes. */
  isStream?: true;
  handle(request: FastifyRequest, reply: FastifyReply, tools: DeskTools): Promise<FastifyReply>;
}

/** Counts on pages stop here and show a `+`. */
const mostCounted = 10_000;
const mostParked = 2_000;

/** Every route of the desk, with who may use it. A route that is not listed here does not exist. */
export const routes: readonly Route[] = [
  { method: 'GET', path: 'desk.css', access: 'anyone', handle: sendStyle },
  { method: 'GET', path: 'desk.js', access: 'anyone', handle: sendScript },
  { method: 'GET', path: 'charts.js', access: 'anyone', handle: sendChartScript },
  { method: 'GET', path: 'uplot.js', access: 'anyone', handle: sendPlotScript },
  { method: 'GET', path: 'uplot.css', access: 'anyone', handle: sendPlotStyle },
  { method: 'GET', path: 'live', access: 'read', isStream: true, handle: tellWhatHappens },
  { method: 'GET', path: 'healthz', access: 'anyone', handle: tellHealth },
  { method: 'GET', path: 'readyz', access: 'anyone', handle: tellReadiness },
  { method: 'GET', path: 'metrics', access: 'read', handle: sendMetrics },
  { method: 'GET', path: 'sign-in', access: 'anyone', handle: signInForm },
  { method: 'POST', path: 'sign-in', access: 'anyone', mostPerMinute: signInsPerMinute, handle: signIn },
  { method: 'POST', path: 'sign-out', access: 'read', handle: signOut },
  { method: 'POST', path: 'theme', access: 'read', handle: switchTheme },
  { method: 'GET', path: '', access: 'read', handle: showOverview },
  { method: 'GET', path: 'needs-a-person', access: 'read', handle: showParked },
  { method: 'GET', path: 'outbox', access: 'read', handle: showOutbox },
  { method: 'GET', path: 'outbox.csv', access: 'read', isStream: true, handle: sendOutbox },
  { method: 'GET', path: 'invoices', access: 'read', handle: showInvoices },
  { method: 'GET', path: 'invoices.csv', access: 'read', isStream: true, handle: sendInvoices },
  { method: 'GET', path: 'audit', access: 'read', handle: showAudit },
  { method: 'GET', path: 'audit.csv', access: 'read', isStream: true, handle: sendAudit },
  { method: 'GET', path: 'webhooks', access: 'read', handle: showWebhooks },
  { method: 'GET', path: 'reconcile', access: 'read', handle: showReconcile },
  { method: 'GET', path: 'reconcile.csv', access: 'read', isStream: true, handle: sendFindings },
  { method: 'GET', path: 'reconcile/:file', access: 'read', handle: sendReport },
  { method: 'GET', path: 'settings', access: 'read', handle: showSettings },
  { method: 'GET', path: 'act', access: 'act', handle: previewAction },
  { method: 'GET', path: 'act/:id', access: 'act', handle: showAction },
  { method: 'POST', path: 'act/:id', access: 'act', handle: carryOut },
  { method: 'GET', path: 'order/:key', access: 'read', handle: (...given) => showRecord('order', ...given) },
  { method: 'GET', path: 'customer/:key', access: 'read', handle: (...given) => showRecord('customer', ...given) },
];

/** Events for an open page, as long as it is looked at. */
async function tellWhatHappens(request: FastifyRequest, reply: FastifyReply, tools: DeskTools): Promise<FastifyReply> {
  const since = Number(/^\d{1,15}$/.exec(queryOf(request).get('since') ?? '')?.[0] ?? Number.NaN);
  if (Number.isNaN(since)) return refuse(reply, 400, 'The address makes no sense.');
  const stream = new PassThrough();
  if (!tools.live.add(stream, since)) return refuse(reply, 503, 'Too many pages are open.');
  return reply.type('text/event-stream').header('x-accel-buffering', 'no').send(stream);
}

/** Shows that the process answers. Nothing is read for it. */
async function tellHealth(_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  return reply.type('text/plain; charset=utf-8').send('ok\n');
}

async function tellReadiness(_request: FastifyRequest, reply: FastifyReply, tools: DeskTools): Promise<FastifyReply> {
  const why = await readiness(tools.parts.context);
  const text = why.length === 0 ? 'ready\n' : `not ready: ${why.join(', ')}\n`;
  return reply
    .code(why.length === 0 ? 200 : 503)
    .type('text/plain; charset=utf-8')
    .send(text);
}

async function sendMetrics(_request: FastifyRequest, reply: FastifyReply, tools: DeskTools): Promise<FastifyReply> {
  return reply.type(tools.metrics.contentType).send(await tools.metrics.read());
}

async function showOverview(request: FastifyRequest, reply: FastifyReply, tools: DeskTools): Promise<FastifyReply> {
  const { q } = request.query as { q?: unknown };
  if (typeof q === 'string' && q.trim() !== '') return showFound(q.trim(), request, reply, tools);
  const { base, time } = tools;
  const { context, erpIdentity } = tools.parts;
  const { store, settings } = context;
  const nowMs = context.nowMs();
  const range = rangeNames.find((one) => one === queryOf(request).get('range')) ?? 'day';
  const { status, series } = await store.read('read the status', async (tx) => ({
    status: await readStatus(tx, settings, erpIdentity, nowMs, mostCounted),
    series: await readSeries(tx, range, nowMs, settings.erp.timeZone),
  }));
  const props = { base, status, series, settings, nowMs, time, most: mostCounted };
  return tools.page(request, reply, { title: 'Overview', content: <Overview {...props} />, hasCharts: true });
}

/** One record: its page. Several, or none: what there is. */
async function showFound(
  text: string,
  request: FastifyRequest,
  reply: FastifyReply,
  tools: DeskTools,
): Promise<FastifyReply> {
  const { base } = tools;
  const { store, settings } = tools.parts.context;
  const asked = text.slice(0, 255);
  const found = await store.read('search', (tx) => searchRecords(tx, asked, sourceNames(settings)));
  const [only] = found.records;
  if (only !== undefined && found.records.length + found.invoices.length === 1)
    return reply.redirect(recordPath(base, only), 303);
  const content = <SearchResults base={base} text={asked} found={found} amounts={settings.amounts} />;
  return tools.page(request, reply, { title: 'Search', content });
}

async function showRecord(
  entity: Entity,
  request: FastifyRequest,
  reply: FastifyReply,
  tools: DeskTools,
): Promise<FastifyReply> {
  const { key } = request.params as { key: string };
  const { context, erpIdentity } = tools.parts;
  const { store, settings } = context;
  const { time } = tools;
  const title = entity === 'order' ? 'Order' : 'Customer';
  // The address has the key as the store writes it.
  const naming = { by: 'key', entity, sources: [] } as const;
  const [known] = await store.read('look for a record', (tx) => findRecords(tx, key, naming));
  if (known === undefined) {
    const captured = await readCaptured(context, entity);
    const unknown = describeUnknown({ entity, by: 'key' }, captured, settings, tools);
    reply.code(404);
    return tools.page(request, reply, {
      title: `${title} ${key.slice(0, 255)}`,
      content: <UnknownRecord {...unknown} />,
    });
  }
  const explanation = await explainRecord(context, { entity, sourceKey: known.sourceKey, erpIdentity });
  const name = explanation.story.number ?? known.sourceKey;
  const record = { entity, sourceKey: known.sourceKey };
  const offers = personOf(request).role === 'act' ? await offersFor(deskContext(context), record) : null;
  const now = queryOf(request).get('erp') === 'now' ? await tools.erpNow(entity, known.sourceKey) : null;
  const values = { now, known: await store.read('read its values', (tx) => knownValues(tx, entity, known.sourceKey)) };
  const content = <RecordPage {...{ base: tools.base, record, explanation, values, offers, settings, time }} />;
  return tools.page(request, reply, { title: `${title} ${name}`, content });
}

async function showParked(request: FastifyRequest, reply: FastifyReply, tools: DeskTools): Promise<FastifyReply> {
  const { store, settings } = tools.parts.context;
  const { parked, personal } = await store.read('group what waits for a person', async (tx) => {
    const found = await groupParked(tx, settings, mostParked);
    const samples = found.groups.flatMap((group) => group.samples).slice(0, 500);
    return { parked: found, personal: await personalValues(tx, samples) };
  });
  const isMasked = queryOf(request).get('personal') !== '1';
  const mayAct = personOf(request).role === 'act';
  const content = (
    <NeedsAPerson {...{ base: tools.base, mayAct, cover: isMasked ? masker(personal) : null, settings, ...parked }} />
  );
  return tools.page(request, reply, { title: 'Needs a person', content, personal });
}
