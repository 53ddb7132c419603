import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditFilter } from '../audit/read-audit.js';
import type { Settings } from '../config/settings.js';
import { lastPullInWords } from '../daemon/status-lines.js';
import { entities } from '../model/record.js';
import { recordsInAudit } from '../operator/find-records.js';
import { isoFormatter } from '../operator/format.js';
import { browseAudit, browseMessages, browseWebhooks } from '../operator/lists/browse.js';
import { browseInvoices, invoicesInTurn } from '../operator/lists/browse-invoices.js';
import { masker, personalValues } from '../operator/values/personal-data.js';
import type { Tx } from '../store/store.js';
import { factsInWords, tell } from '../words/words.js';
import { sendCsv } from './csv.js';
import { choiceIn, filterOf, listedBy, nameIn, queryOf, textIn } from './filters.js';
import { refuse } from './guard.js';
import { Audit } from './pages/audit.js';
import { Invoices } from './pages/invoices.js';
import { Outbox } from './pages/outbox.js';
import { SettingsPage, settingRows } from './pages/settings.js';
import { withoutPage } from './pages/table.js';
import { Webhooks } from './pages/webhooks.js';
import { type DeskTools, personOf } from './tools.js';

type Handler = (request: FastifyRequest, reply: FastifyReply, tools: DeskTools) => Promise<FastifyReply>;

const rowsOnPage = 50;
const rowsInCsv = 500;

/** A whole number that an address names, or null. */
function idIn(query: URLSearchParams, name: string): number | null {
  const text = query.get(name) ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

export const showOutbox: Handler = async (request, reply, tools) => {
  const { store, settings } = tools.parts.context;
  const query = queryOf(request);
  const { page, personal, named, filter } = await store.read('list messages', async (tx) => {
    const listed = await listedBy(tx, query, settings);
    const found = await browseMessages(tx, listed.filter, idIn(query, 'before'), rowsOnPage);
    return { page: found, personal: await personalValues(tx, found.rows), ...listed };
  });
  const ambiguous = named.length > 1 ? named : [];
  const isNarrow = Object.keys(filter).length > 0 && personOf(request).role === 'act' && ambiguous.length === 0;
  const action = isNarrow ? Object.fromEntries(withoutPage(query)) : null;
  const { timeZone } = settings.erp;
  const content = <Outbox {...{ base: tools.base, query, page, action, ambiguous, timeZone }} />;
  return tools.page(request, reply, { title: 'Outbox', content, personal });
};

/** Masks the texts of a CSV, batch by batch; nothing is masked if the person asked for personal data. */
async function coverFor(request: FastifyRequest, tools: DeskTools) {
  const isShown = await tools.showsPersonal(request);
  return async (tx: Tx, rows: Parameters<typeof personalValues>[1]): Promise<(text: string) => string> =>
    isShown ? (text) => text : masker(await personalValues(tx, rows));
}

export const sendOutbox: Handler = async (request, reply, tools) => {
  const { store, settings } = tools.parts.context;
  const query = queryOf(request);
  // Before the answer begins: a filter that makes no sense can be refused only then.
  filterOf(query);
  const iso = isoFormatter(settings.erp.timeZone);
  const columns = ['id', 'entity', 'key', 'number', 'revision', 'operation', 'state', 'class', 'reason', 'tries'];
  const head = [...columns, 'captured', 'closed', 'serviceId'];
  const coverOf = await coverFor(request, tools);
  return sendCsv(reply, { name: 'outbox', head, secrets: tools.parts.secrets }, async (before: number | null) => {
    const { rows, next, cover } = await store.read('list messages', async (tx) => {
      const { filter } = await listedBy(tx, query, settings);
      const found = await browseMessages(tx, filter, before, rowsInCsv);
      return { ...found, cover: await coverOf(tx, found.rows) };
    });
    return {
      next,
      rows: rows.map((one) => [
        one.id,
        one.entity,
        one.sourceKey,
        one.number,
        one.revision,
        one.operation,
        one.state,
        one.parkClass,
        one.reason && cover(tell(one.reason)),
        one.attempts,
        iso(one.capturedAt),
        one.closedAt === null ? null : iso(one.closedAt),
        one.serviceId,
      ]),
    };
  });
};

export const showAudit: Handler = async (request, reply, tools) => {
  const { store, settings } = tools.parts.context;
  const query = queryOf(request);
  const { page, personal } = await store.read('read the audit', async (tx) => {
    const found = await browseAudit(tx, await auditFilter(tx, query, settings), idIn(query, 'before'), rowsOnPage);
    return { page: found, personal: await personalValues(tx, found.rows) };
  });
  const content = <Audit {...{ base: tools.base, query, page, timeZone: settings.erp.timeZone }} />;
  return tools.page(request, reply, { title: 'Audit', content, personal });
};

export const sendAudit: Handler = async (request, reply, tools) => {
  const { store, settings } = tools.parts.context;
  const query = queryOf(request);
  choiceIn(query, 'entity', entities);
  const iso = isoFormatter(settings.erp.timeZone);
  const coverOf = await coverFor(request, tools);
  const columns = ['id', 'at', 'event', 'outcome', 'entity', 'sourceKey', 'messageId', 'attemptId', 'actor', 'detail'];
  return sendCsv(
    reply,
    { name: 'audit', head: columns, secrets: tools.parts.secrets },
    async (before: number | null) => {
      const { rows, next, cover } = await store.read('read the audit', async (tx) => {
        const found = await browseAudit(tx, await auditFilter(tx, query, settings), before, rowsInCsv);
        return { ...found, cover: await coverOf(tx, found.rows) };
      });
      return {
        next,
        rows: rows.map((line) => [
          line.id,
          iso(line.at),
          line.event,
          line.outcome,
          line.entity,
          line.sourceKey,
          line.messageId,
          line.attemptId,
          line.actor,
          cover(JSON.stringify(factsInWords(line.detail))),
        ]),
      };
    },
  );
};

async function auditFilter(tx: Tx, query: URLSearchParams, settings: Settings): Promise<AuditFilter> {
  const entity = choiceIn(query, 'entity', entities);
  const [event, outcome] = [textIn(query, 'event'), textIn(query, 'outcome')];
  const filter: AuditFilter = { ...(entity && { entity }), ...(event && { event }), ...(outcome && { outcome }) };
  const asked = nameIn(query, settings);
  if (asked === null) return filter;
  const { records } = await recordsInAudit(tx, [asked.name], asked.naming);
  return { ...filter, records };
}

export const showInvoices: Handler = async (request, reply, tools) => {
  const { store, settings } = tools.parts.context;
  const query = queryOf(request);
  const { page, pull } = await store.read('read the invoices', (tx) =>
    browseInvoices(tx, listIn(query), placeIn(query), rowsOnPage, tools.time),
  );
  const pullWords = pull ? lastPullInWords(pull, tools.time) : 'No pull has run yet: waybill sync pull';
  const mayAct = personOf(request).role === 'act';
  const content = (
    <Invoices {...{ base: tools.base, query, page, pull: pullWords, amounts: settings.amounts, mayAct }} />
  );
  return tools.page(request, reply, { title: 'Invoices', content });
};

const invoiceListNames = ['due', 'credit', 'held', 'left'] as const;

function listIn(query: URLSearchParams) {
  return choiceIn(query, 'list', invoiceListNames) ?? 'due';
}

function placeIn(query: URLSearchParams) {
  const [after, invoiceNo] = [query.get('after'), query.get('key-after')];
  return after === null || invoiceNo === null ? null : { after, invoiceNo };
}

export const sendInvoices: Handler = async (request, reply, tools) => {
  const { store, settings } = tools.parts.context;
  const list = listIn(queryOf(request));
  if (list === 'left') return refuse(reply, 404, 'This list has no CSV.');
  const head = ['invoice', 'customer', `amountMinor${settings.amounts.currency}`, 'due', 'status'];
  const amountColumn = 2;
  return sendCsv(
    reply,
    { name: 'invoices', head, secrets: tools.parts.secrets, sumOf: amountColumn },
    async (after: Parameters<typeof invoicesInTurn>[2]) => {
      const found = await store.read('read the invoices', (tx) => invoicesInTurn(tx, list, after, rowsInCsv));
      if (found === null) return { broken: 'The list of invoices changed while it was read.' };
      return {
        next: found.next,
        rows: found.rows.map((one) => [one.invoice_no, one.customer_code, one.amount, one.due_date, one.status]),
      };
    },
  );
};

export const showWebhooks: Handler = async (request, reply, tools) => {
  const { store, settings } = tools.parts.context;
  const query = queryOf(request);
  const [receivedAt, id] = [idIn(query, 'before'), query.get('key-after')];
  const after = receivedAt === null || id === null ? null : { receivedAt, id };
  const page = await store.read('list events', (tx) => browseWebhooks(tx, after, rowsOnPage));
  const { timeZone } = settings.erp;
  const content = <Webhooks {...{ base: tools.base, query, page, isEnabled: settings.webhooks.enabled, timeZone }} />;
  return tools.page(request, reply, { title: 'Webhooks', content });
};

export const showSettings: Handler = async (request, reply, tools) => {
  const { parts } = tools;
  const rows = settingRows(parts.context.settings, parts.originOf);
  return tools.page(request, reply, { title: 'Settings', content: <SettingsPage rows={rows} /> });
};
