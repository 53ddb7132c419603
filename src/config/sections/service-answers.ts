import { z } from 'zod';
import { usualErrorPlaces } from '../../model/error-places.js';
import { regularExpression } from './value-types.js';

/** A place in a JSON body: names and list positions joined by dots. */
const place = z
  .string()
  .regex(/^[^.\s]+(\.[^.\s]+)*$/)
  .meta({ allowed: 'names joined by dots, such as error.code' });

/** One way to recognise an answer: its status, and if given its error code or a pattern found in its body. */
export const answer = z
  .strictObject({
    status: z.number().int().min(300).max(599).describe('Status of the answer.'),
    code: z.string().min(1).optional().describe('Error code in the body, found by service.errorBody.code.'),
    pattern: regularExpression.optional().describe('Regular expression searched for in the body.'),
  })
  .meta({ shape: 'Answer', allowed: 'an answer: {status: 409, pattern: "already.exists"}' });

const answers = (defaults: z.input<typeof answer>[], meaning: string) =>
  z.array(answer).default(defaults).describe(meaning);

export const answersSettings = z
  .strictObject({
    inProgress: answers([{ status: 409, pattern: 'in.progress' }], 'The first request with this key is still running.'),
    keyReused: answers([{ status: 422, pattern: 'idempotency' }], 'The key was used before with another body.'),
    alreadyExists: answers([{ status: 409, pattern: 'already.exists' }], 'The record is there under another key.'),
    unknownCustomer: answers(
      [{ status: 404, pattern: 'customer' }],
      'The order names a customer that the service does not know.',
    ),
    // A bare 404 may as well come from a mistyped path, or from a gateway that has lost the service behind it.
    gone: answers(
      [
        { status: 410 },
        { status: 404, pattern: 'no.such.(order|customer)|(order|customer).(not.found|does.not.exist)' },
      ],
      'Only for a removal: the record itself is not there any more, so that nothing is left to do. Name what the service says of a missing record, not of an unknown address: a status alone proves nothing, and a record that is wrongly taken for removed is created a second time when it comes back. Where an answer to the removal of an order matches unknownCustomer as well, it does not count.',
    ),
    blocked: answers(
      [],
      'We are shut out for a while: everything rests as long as Retry-After says, else service.blockedSeconds. A 403 with Retry-After always means this.',
    ),
  })
  .prefault({})
  .describe('Which answers mean something that a status alone does not say.');

const places = (defaults: readonly string[], meaning: string) =>
  z
    .array(place)
    .default([...defaults])
    .describe(meaning);

export const errorBodySettings = z
  .strictObject({
    code: places(
      usualErrorPlaces.code,
      'Where the error code stands; the first place that holds a text or a number counts.',
    ),
    message: places(
      usualErrorPlaces.message,
      'Where the words stand; the first place that holds a text or a number counts.',
    ),
    details: places(
      usualErrorPlaces.details,
      'Where it says which fields are wrong: texts, objects with field and message, or lists of them by field.',
    ),
  })
  .prefault({})
  .describe('How an error is read. Plain text and HTML need no setting.');

export const acknowledgementSettings = z
  .strictObject({
    customerId: place
      .default('customer_code')
      .describe(
        'Where the answer names the customer. customer_code: the code that was sent; another place: an id that the service gives.',
      ),
    customerState: place.default('status').describe('Where the answer says the state of the customer, if it does.'),
    orderId: place.default('order_id').describe('Where the answer names the order.'),
    orderState: place.default('status').describe('Where the answer says the state of the order.'),
    orderTotal: place
      .default('total')
      .describe('Where the answer says the total. A created order needs it, unless service.checkTotal is off.'),
    orderCreatedAt: place
      .default('created_at')
      .describe('Where the answer says when the order was created: ISO 8601 with an offset.'),
  })
  .prefault({})
  .describe('Where the fields of an acknowledgement stand in the body of a success.');

const states = (defaults: string[], meaning: string) => z.array(z.string().min(1)).default(defaults).describe(meaning);

export const statesSettings = z
  .strictObject({
    customer: states([], 'Known states of a customer. Empty: none is known, and none is unexpected.'),
    order: states(['confirmed'], 'Known states of an order. Empty: none is known, and none is unexpected.'),
  })
  .prefault({})
  .describe(
    'States that are expected. Another one is kept as it is, and warned of once. Those of invoices: invoices.states.',
  );

export type AnswerPattern = z.output<typeof answer>;
export type AnswersSettings = z.output<typeof answersSettings>;
export type AcknowledgementSettings = z.output<typeof acknowledgementSettings>;
export type StatesSettings = z.output<typeof statesSettings>;

/** What follows when the service says that a customer is there already. */
export const adoptionSettings = z
  .strictObject({
    customers: z
      .enum(['exact', 'off'])
      .default('exact')
      .describe(
        'exact: a customer that is there already is adopted when its code is exactly ours; what differs is held for review. off: a person decides about each. Names and e-mail addresses never match by themselves.',
      ),
    codeField: z
      .string()
      .min(1)
      .default('customer_code')
      .describe(
        'Where the code stands, in the answer to a single read and in a record that an answer carries, such as data.customer_code. The id stands there too, unless the service gives ids: then at service.acknowledgement.customerId.',
      ),
    answerRecord: z
      .string()
      .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'not the names of fields with dots between them')
      .optional()
      .describe(
        'Where the answer "already exists" carries the customer that is there, such as error.customer. Absent: it is asked for.',
      )
      .meta({ allowed: 'names of fields with dots between them' }),
  })
  .prefault({})
  .describe('Customers that somebody else made at the service before us.');

export type AdoptionSettings = z.output<typeof adoptionSettings>;
