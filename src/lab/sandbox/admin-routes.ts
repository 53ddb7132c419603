import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { FaultInput } from './fault-plan.js';
import type { Ledger, LedgerCounts, LedgerCustomer, LedgerOrder } from './ledger.js';
import type { SandboxControls } from './sandbox.js';
import type { SandboxState } from './state.js';

export function viewLedger(state: SandboxState): Ledger {
  return {
    requests: state.requests,
    customers: [...viewCustomers(state)],
    orders: [...viewOrders(state)],
    deleted: state.records.deleted,
    counts: viewCounts(state),
    duplicates: [...state.records.ordersByReference.repeated()].map(([reference, order_ids]) => ({
      reference,
      order_ids,
    })),
  };
}

/** Costs nothing, however much the ledger holds. */
export function viewCounts(state: SandboxState): LedgerCounts {
  return {
    customers: state.records.customers.size,
    orders: state.records.orders.size,
    invoices: state.invoices.total,
    requests: state.requests.length,
    throttled: state.throttledCount,
    replayed: state.replayedCount,
    duplicateReferences: state.records.ordersByReference.repeatedCount,
  };
}

export function* viewCustomers(state: SandboxState): Iterable<LedgerCustomer> {
  for (const { customerCode, record, key, createdAt, requestIds } of state.records.customers.values()) {
    yield { customer_code: customerCode, record, key, created_at: createdAt, requests: requestIds };
  }
}

export function* viewOrders(state: SandboxState): Iterable<LedgerOrder> {
  for (const order of state.records.orders.values()) {
    yield {
      order_id: order.orderId,
      key: order.key,
      reference: state.records.referenceOf(order),
      record: order.record,
      status: order.status,
      total: order.total,
      created_at: order.createdAt,
      requests: order.requestIds,
    };
  }
}

const adminBodyLimitBytes = 64 * 1024 * 1024;

const limitInput = z.strictObject({ requests: z.int().min(1), windowMs: z.number().positive() });
const limitsInput = z.union([z.null(), limitInput, z.array(limitInput)]);
const invoiceInput = z.strictObject({
  invoice_no: z.string().min(1).exactOptional(),
  customer_code: z.string().min(1).exactOptional(),
  amount: z.int(),
  due_date: z.iso.date().exactOptional(),
  status: z.string().min(1).exactOptional(),
});
const invoicesInput = z.union([invoiceInput.transform((invoice) => [invoice]), z.array(invoiceInput)]);
const orderInput = z.strictObject({ status: z.string().min(1).exactOptional(), total: z.int().exactOptional() });
const statusInput = z.strictObject({ status: z.string().min(1) });

/** The ways in for tests and people. They need no token, don't count as requests and answer to loopback only. */
export function addAdminRoutes(app: FastifyInstance, state: SandboxState, controls: SandboxControls): void {
  app.register((admin, _options, done) => {
    admin.addHook('onRequest', refuseStrangers);
    admin.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) =>
      reply.code(error.statusCode ?? 400).send({ error: { code: 'invalid_request', message: error.message } }),
    );

    admin.get<{ Querystring: { only?: string } }>('/_ledger', (request, reply) =>
      reply.send(request.query.only === 'counts' ? controls.counts() : controls.ledger()),
    );
    admin.get('/_ledger/requests', (_request, reply) => sendLines(reply, state.requests));
    admin.get('/_ledger/customers', (_request, reply) => sendLines(reply, viewCustomers(state)));
    admin.get('/_ledger/orders', (_request, reply) => sendLines(reply, viewOrders(state)));

    admin.get('/_faults', (_request, reply) => reply.send(controls.faults().map(printable)));
    admin.post('/_faults', { bodyLimit: adminBodyLimitBytes }, (request, reply) => {
      // Checked by setFaults itself, whose error names every mistake.
      controls.setFaults(json(request) as FaultInput[]);
      return reply.send(controls.faults().map(printable));
    });
    admin.delete('/_faults', (_request, reply) => {
      controls.clearFaults();
      return reply.code(204).send();
    });

    admin.post('/_limit', (request, reply) => {
      controls.setLimit(check(limitsInput, request));
      return reply.code(204).send();
    });
    admin.delete('/_keys', (_request, reply) => {
      controls.forgetKeys();
      return reply.code(204).send();
    });

    admin.post<{ Params: { id: string } }>('/_orders/:id', (request, reply) =>
      reply.send(controls.setOrder(request.params.id, check(orderInput, request))),
    );
    admin.delete<{ Params: { id: string } }>('/_orders/:id', (request, reply) => {
      controls.removeOrder(request.params.id);
      return reply.code(204).send();
    });

    admin.post('/_invoices', { bodyLimit: adminBodyLimitBytes }, (request, reply) =>
      reply.code(201).send(controls.addInvoices(check(invoicesInput, request))),
    );
    admin.post<{ Params: { no: string } }>('/_invoices/:no/pay', (request, reply) =>
      reply.send(controls.payInvoice(request.params.no)),
    );
    admin.post<{ Params: { no: string } }>('/_invoices/:no/status', (request, reply) =>
      reply.send(controls.setInvoiceStatus(request.params.no, check(statusInput, request).status)),
    );
    admin.delete<{ Params: { no: string } }>('/_invoices/:no', (request, reply) => {
      controls.removeInvoice(request.params.no);
      return reply.code(204).send();
    });
    done();
  });
}

async function refuseStrangers(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (!/^(127\.|::1$|::ffff:127\.)/.test(request.socket.remoteAddress ?? '')) {
    await reply.code(403).send({ error: { code: 'forbidden', message: 'Only from this machine' } });
  }
}

function json(request: FastifyRequest): unknown {
  try {
    return JSON.parse(String(request.body ?? ''));
  } catch (cause) {
    throw new TypeError('The body is not valid JSON', { cause });
  }
}

function check<T>(schema: z.ZodType<T>, request: FastifyRequest): T {
  const parsed = schema.safeParse(json(request));
  if (!parsed.success) throw new TypeError(z.prettifyError(parsed.error));
  return parsed.data;
}

/** One JSON text a line, so that a large ledger is never held as one string. */
function sendLines(reply: FastifyReply, items: Iterable<unknown>): FastifyReply {
  const lines = function* (): Iterable<string> {
    for (const item of items) yield `${JSON.stringify(item)}\n`;
  };
  return reply.type('application/x-ndjson').send(Readable.from(lines(), { objectMode: false }));
}

function printable({ fault, seen, fired }: ReturnType<SandboxControls['faults']>[number]): unknown {
  const { path } = fault.match;
  const match = path instanceof RegExp ? { ...fault.match, path: { regex: path.source } } : fault.match;
  return { ...fault, match, seen, fired };
}
