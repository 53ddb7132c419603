import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { SandboxControls } from './controls.js';
import type { FaultInput } from './fault-plan.js';
import type { SandboxState } from './state.js';

const bodyLimitBytes = 64 * 1024 * 1024;

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

type ById = { Params: { id: string } };

/** The ways in for tests and people. They need no token, don't count as requests and answer to loopback only. */
export function addAdminRoutes(app: FastifyInstance, { requests, records }: SandboxState, controls: SandboxControls) {
  app.register(async (admin) => {
    admin.addHook('onRequest', refuseStrangers);
    admin.removeAllContentTypeParsers();
    // JSON whatever the content type says, so that a bare `curl -d` works.
    const parse = async (_request: FastifyRequest, body: string): Promise<unknown> => JSON.parse(body);
    admin.addContentTypeParser('*', { parseAs: 'string', bodyLimit: bodyLimitBytes }, parse);
    admin.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
      const message = error instanceof z.ZodError ? z.prettifyError(error) : error.message;
      return reply.code(error.statusCode ?? 400).send({ error: { code: 'invalid_request', message } });
    });

    admin.get<{ Querystring: { only?: string } }>('/_ledger', ({ query }) =>
      query.only === 'counts' ? controls.counts() : controls.ledger(),
    );
    admin.get('/_ledger/requests', (_request, reply) => sendLines(reply, requests));
    admin.get('/_ledger/customers', (_request, reply) => sendLines(reply, records.customers.values()));
    admin.get('/_ledger/orders', (_request, reply) => sendLines(reply, records.orders.values()));

    /** Acts and answers 204. */
    const act = (method: 'POST' | 'DELETE', url: string, effect: (request: FastifyRequest<ById>) => void) =>
      admin.route<ById>({
        method,
        url,
        handler: (request, reply) => {
          effect(request);
          return reply.code(204).send();
        },
      });

    const faults = () => controls.faults().map(printable);
    admin.get('/_faults', faults);
    admin.post('/_faults', ({ body }) => {
      // setFaults itself checks them, and its error names every mistake.
      controls.setFaults(body as FaultInput[]);
      return faults();
    });
    act('DELETE', '/_faults', controls.clearFaults);
    act('POST', '/_limit', ({ body }) => controls.setLimit(limitsInput.parse(body)));
    act('DELETE', '/_keys', controls.forgetKeys);

    admin.post<ById>('/_orders/:id', ({ params, body }) => controls.setOrder(params.id, orderInput.parse(body)));
    act('DELETE', '/_orders/:id', ({ params }) => controls.removeOrder(params.id));

    admin.post('/_invoices', ({ body }, reply) =>
      reply.code(201).send(controls.addInvoices(invoicesInput.parse(body))),
    );
    admin.post<ById>('/_invoices/:id/pay', ({ params }) => controls.payInvoice(params.id));
    admin.post<ById>('/_invoices/:id/status', ({ params, body }) =>
      controls.setInvoiceStatus(params.id, statusInput.parse(body).status),
    );
    act('DELETE', '/_invoices/:id', ({ params }) => controls.removeInvoice(params.id));
  });
}

async function refuseStrangers(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (!/^(127\.|::1$|::ffff:127\.)/.test(request.socket.remoteAddress ?? '')) {
    await reply.code(403).send({ error: { code: 'forbidden', message: 'Only from this machine' } });
  }
}

/** One JSON text a line, so that a large ledger is never held as one string. */
function sendLines(reply: FastifyReply, items: Iterable<unknown>): FastifyReply {
  const lines = function* (): Iterable<string> {
    for (const item of items) yield `${JSON.stringify(item)}\n`;
  };
  return reply.type('application/x-ndjson').send(Readable.from(lines(), { objectMode: false }));
}

/** A fault with its regular expression in the form in which it can be set over HTTP. */
function printable({ fault, seen, fired }: ReturnType<SandboxControls['faults']>[number]): unknown {
  const { path } = fault.match;
  const match = path instanceof RegExp ? { ...fault.match, path: { regex: path.source } } : fault.match;
  return { ...fault, match, seen, fired };
}
