import type { SandboxOptions } from '../../../../src/lab/sandbox/options.js';
import type { ProbeOptions } from '../../../../src/operator/setup/probe/probe.js';
import { merge, type Tree } from '../../../support/merge-settings.js';

/** A service of this family, and what a probe has to find out about it. */
export interface ProbedService {
  name: string;
  sandbox: Partial<SandboxOptions>;
  /** The one thing that its documentation names: the credential. */
  known?: Tree;
  options?: Partial<ProbeOptions>;
  /** It works on a create for so long that two of them meet. */
  isSlow?: true;
  /** Every setting that the probe proposes. */
  settings: Tree;
  /** Points that a person has to ask about, besides those that no probe can answer. */
  unknown: readonly string[];
  /** The number of test records that stay; absent: none. */
  left?: Record<'customer' | 'order', number>;
  /** Words of what was found, by point. */
  found: Record<string, string>;
}

const code = (status: number, code: string) => [{ status, code }];
const words = (status: number, pattern: string) => [{ status, pattern }];

/** The proposal for the sandbox as it is unless it is told otherwise. */
const usual: Tree = {
  service: {
    idempotency: {
      in: 'header',
      header: 'Idempotency-Key',
      quoted: false,
      comparesBodies: true,
      replaysRefusals: false,
    },
    answers: {
      inProgress: code(409, 'request_in_progress'),
      keyReused: code(422, 'idempotency_key_reused'),
      alreadyExists: code(409, 'already_exists'),
      unknownCustomer: code(404, 'unknown_customer'),
      gone: [...words(404, 'There.is.no.such.order'), ...words(404, 'There.is.no.such.customer')],
    },
    endpoints: {
      createOrder: { successStatus: 201 },
      createCustomer: { successStatus: 201 },
      updateOrder: { method: 'PATCH', successStatus: 200 },
      updateCustomer: { method: 'PATCH', successStatus: 200 },
      deleteOrder: { successStatus: 204 },
      deleteCustomer: { successStatus: 204 },
    },
    acknowledgement: {
      orderId: 'order_id',
      orderState: 'status',
      orderTotal: 'total',
      orderCreatedAt: 'created_at',
      customerId: 'customer_code',
      customerState: 'status',
    },
    states: { order: ['confirmed'] },
  },
  invoices: { pageSize: 7, paging: { firstPage: 1, fields: { invoices: 'data', total: 'total', page: 'page' } } },
};
const inWords = {
  alreadyExists: words(409, 'exists.already'),
  unknownCustomer: words(404, 'There.is.no.customer'),
};
const isRunning = words(409, 'A.request.with.this.idempotency.key.is.in.progress');

const customer = { name: 'Test', city: 'Test-Town' };
/** Unknown where no address is named that is forbidden, nor many reads asked for. */
const forbidden = '403, no permission';
const slowDown = 'Retry-After';
const running = '"the first request with the key is still running"';
const otherBody = '"the key came with another body before"';

export const services: readonly ProbedService[] = [
  {
    name: 'the usual one',
    isSlow: true,
    sandbox: { maxPageSize: 7, forbiddenPaths: ['/v1/reports'] },
    options: { forbiddenPath: '/v1/reports', burst: 12, customer },
    settings: usual,
    unknown: [],
    found: {
      'quotes around the key': 'the same with quotes and without',
      '403, no permission': 'answered 403, JSON, code forbidden',
      'Retry-After': 'in seconds',
    },
  },
  {
    name: 'a quoted key, refusals that are remembered, problem+json, pages from 0 of at most 13',
    isSlow: true,
    sandbox: {
      keyForm: 'quoted',
      replayRefusals: true,
      errorShape: 'problem',
      firstPage: 0,
      maxPageSize: 13,
      largePages: 'refuse',
      retryAfter: 'http-date',
    },
    options: { burst: 12, customer },
    settings: merge(usual, {
      service: { idempotency: { quoted: true, replaysRefusals: true } },
      invoices: { pageSize: 13, paging: { firstPage: 0 } },
    }),
    unknown: [forbidden],
    found: { 'largest page': '14 are refused', 'Retry-After': 'as a date' },
  },
  {
    name: 'a key in the body, answers in an envelope, errors of its own, PUT alone, status 200',
    isSlow: true,
    sandbox: {
      keyIn: 'body',
      keyField: 'request_code',
      createdStatus: 200,
      refusedMethods: ['PATCH'],
      errorShape: 'fault',
      maxPageSize: 11,
      retryAfter: 'absent',
      answerPlaces: {
        order: { order_id: 'data.id', status: 'data.state', total: 'data.sum', created_at: 'data.created' },
        customer: { customer_code: 'data.customer_code', status: 'data.state' },
        invoices: { data: 'result.rows', total: 'result.count', page: 'result.page' },
      },
    },
    options: { burst: 12, customer },
    settings: merge(usual, {
      service: {
        idempotency: { in: 'body', header: undefined, quoted: undefined, field: 'request_code' },
        endpoints: {
          createOrder: { successStatus: 200 },
          createCustomer: { successStatus: 200 },
          updateOrder: { method: 'PUT' },
          updateCustomer: { method: 'PUT' },
        },
        acknowledgement: {
          orderId: 'data.id',
          orderState: 'data.state',
          orderTotal: 'data.sum',
          orderCreatedAt: 'data.created',
          customerId: 'data.customer_code',
          customerState: 'data.state',
        },
        errorBody: { code: ['fault.no'], message: ['fault.text'] },
      },
      invoices: {
        pageSize: 11,
        paging: { fields: { invoices: 'result.rows', total: 'result.count', page: 'result.page' } },
      },
    }),
    unknown: [forbidden],
    found: { 'Retry-After': 'is absent', '404, no such record': 'answered 404, JSON, code not_found' },
  },
  {
    name: 'bodies that are not compared, errors without a code, pages of at most 9',
    sandbox: {
      keyHeader: 'x-request-code',
      keyForm: 'bare',
      compareBodies: false,
      errorShape: 'message',
      maxPageSize: 9,
      largePages: 'refuse',
    },
    options: { customer },
    settings: merge(usual, {
      service: {
        idempotency: { header: 'X-Request-Code', comparesBodies: false },
        answers: { ...inWords, inProgress: undefined, keyReused: undefined },
      },
      invoices: { pageSize: 9 },
    }),
    unknown: [forbidden, slowDown, running, 'same key twice at once', otherBody],
    found: {
      'quotes around the key': 'with them it is refused',
      'same key, another body': 'repeats its first answer',
      '401, wrong credential': 'answered 401, JSON, no code',
    },
  },
  {
    name: 'repeats that are refused, no DELETE',
    sandbox: {
      repeats: 'refuse',
      refusedMethods: ['DELETE'],
      errorShape: 'errors',
      alreadyExists: { status: 422, code: 'duplicate_customer' },
      maxPageSize: 10,
    },
    options: { customer },
    settings: merge(usual, {
      service: {
        answers: {
          inProgress: undefined,
          alreadyExists: [...code(422, 'duplicate_customer'), ...code(409, 'duplicate_request')],
          gone: words(404, 'There.is.no.such.order'),
        },
        endpoints: { deleteOrder: undefined, deleteCustomer: undefined },
      },
      invoices: { pageSize: 10 },
    }),
    unknown: [forbidden, slowDown, running, 'removal of an order', 'removal of a customer'],
    left: { order: 5, customer: 2 },
    found: {
      'quotes around the key': 'the same with quotes and without',
      'same key and body twice': 'The repeat is refused',
      'same key twice at once': 'refused as any repeat is',
    },
  },
  {
    name: 'a key that may be absent, texts as errors',
    isSlow: true,
    sandbox: {
      needsKey: false,
      keyHeader: 'x-idempotency-key',
      errorShape: 'text',
      maxPageSize: 12,
    },
    options: { customer },
    settings: merge(usual, {
      service: {
        idempotency: { header: 'X-Idempotency-Key' },
        answers: {
          ...inWords,
          inProgress: isRunning,
          keyReused: words(422, 'This.idempotency.key.was.used.for.another.request'),
        },
      },
      invoices: { pageSize: 12 },
    }),
    unknown: [forbidden, slowDown],
    found: { '400, wrong data': 'answered 400, no JSON, no code: items must be a list' },
  },
  {
    name: 'a key in the body that is remembered with its refusal, pages of HTML as errors',
    isSlow: true,
    sandbox: {
      keyIn: 'body',
      keyField: 'external_id',
      replayRefusals: true,
      compareBodies: false,
      errorShape: 'html',
      maxPageSize: 8,
    },
    options: { customer },
    settings: merge(usual, {
      service: {
        idempotency: {
          in: 'body',
          header: undefined,
          quoted: undefined,
          field: 'external_id',
          comparesBodies: false,
          replaysRefusals: true,
        },
        answers: { ...inWords, inProgress: isRunning, keyReused: undefined },
      },
      invoices: { pageSize: 8 },
    }),
    unknown: [forbidden, slowDown, otherBody],
    found: { refusals: 'a corrected record needs a new key' },
  },
  {
    name: 'an API key, a header that a person names, a field that customers need, no invoices',
    isSlow: true,
    sandbox: {
      apiKey: { header: 'X-Api-Key' },
      keyHeader: 'x-vorgang',
      requiredFields: { customer: ['name'], order: [] },
      invoicePerOrder: false,
    },
    known: { service: { credential: { kind: 'apiKey', header: 'X-Api-Key' } } },
    options: { headers: ['X-Vorgang'], customer },
    settings: merge(usual, {
      service: { idempotency: { header: 'X-Vorgang' } },
      invoices: { pageSize: undefined, paging: { firstPage: undefined } },
    }),
    unknown: [forbidden, slowDown, 'number of the first page', 'largest page'],
    found: { 'idempotency key': 'recognised in the header X-Vorgang' },
  },
];
