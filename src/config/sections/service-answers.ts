import { z } from 'zod';
import { usualErrorPlaces } from '../../model/verdict.js';
import type { Partly, Report } from '../configuration-error.js';
import { choice, group, place, regularExpression, text, whole } from './value-types.js';

/** One way to recognise an answer: its status, and if given its error code or a pattern found in its words. */
export const answer = z
  .strictObject({
    status: whole(200, 599).describe(
      'Status of the answer. One below 300 matches only if the answer itself says that it failed, as by success: false.',
    ),
    code: text.optional().describe('Error code in the body, found by service.errorBody.code.'),
    pattern: regularExpression
      .optional()
      .describe(
        "Regular expression to find in the error's code and message, which are where `service.errorBody` says; in the whole body only where that is no JSON.",
      ),
  })
  .refine(
    ({ status, code, pattern }) => status >= 300 || code !== undefined || pattern !== undefined,
    'a status below 300 needs a code or a pattern, because every failure may come with it',
  )
  .meta({ shape: 'Answer', allowed: 'an answer: {status: 409, pattern: "already.exists"}' });

export type AnswerPattern = z.output<typeof answer>;

const answers = (defaults: z.input<typeof answer>[], meaning: string) =>
  z.array(answer).default(defaults).describe(meaning);

export const answersSettings = group('Which answers mean something that a status alone does not say.', {
  inProgress: answers([{ status: 409, pattern: 'in.progress' }], 'The first request with this key is still running.'),
  keyReused: answers([{ status: 422, pattern: 'idempotency' }], 'The key was used before with another body.'),
  alreadyExists: answers([{ status: 409, pattern: 'already.exists' }], 'The record exists under another key.'),
  unknownCustomer: answers(
    [{ status: 404, pattern: 'customer' }],
    'The order names a customer that the service does not know.',
  ),
  // A bare 404 may as well come from a mistyped path, or from a gateway that has lost the service behind it.
  gone: answers(
    [{ status: 410 }, { status: 404, pattern: 'no.such.(order|customer)|(order|customer).(not.found|does.not.exist)' }],
    'Only for a removal: the record itself no longer exists, so that nothing is left to do. Give what the service says of a missing record, not of an unknown address: a status alone proves nothing, and a record that is wrongly taken for removed is created a second time when it comes back. An answer to the removal of an order that also matches unknownCustomer does not count.',
  ),
  blocked: answers(
    [],
    'The service shuts us out for a while: everything rests as long as Retry-After says, else service.blockedSeconds. A 403 with Retry-After always means this.',
  ),
});

const code = place('error.code');
const places = (defaults: readonly string[], meaning: string) =>
  z
    .array(code)
    .default([...defaults])
    .describe(meaning);

export const errorBodySettings = group('How an error is read. Plain text and HTML need no setting.', {
  code: places(usualErrorPlaces.code, 'Where the error code is; the first place that holds a text or a number counts.'),
  message: places(
    usualErrorPlaces.message,
    'Where the message is; the first place that holds a text or a number counts.',
  ),
  details: places(
    usualErrorPlaces.details,
    'Where the wrong fields are named: texts, objects with field and message, or lists of them by field.',
  ),
});

const within = (standard: string, meaning: string) => place('data.status').default(standard).describe(meaning);

export const acknowledgementSettings = group('Where the fields of an acknowledgement are in the body of a success.', {
  customerId: within(
    'customer_code',
    'Where the answer names the customer. customer_code, also in an envelope (data.customer_code): the code that was sent; another name: an id that the service gives.',
  ),
  customerState: within('status', 'Where the answer gives the state of the customer, if it does.'),
  orderId: within('order_id', 'Where the answer names the order.'),
  orderState: within('status', 'Where the answer gives the state of the order, if it does.'),
  orderTotal: within(
    'total',
    'Where the answer gives the total, if it does. It is compared unless service.checkTotal is off.',
  ),
  orderCreatedAt: within(
    'created_at',
    'Where an answer says when the order was created. Acknowledgements need none; a look-up takes no order for ours that was made before ours was sent.',
  ),
});

export type AcknowledgementSettings = z.output<typeof acknowledgementSettings>;

const states = (defaults: string[], meaning: string) => z.array(text).default(defaults).describe(meaning);

export const statesSettings = group(
  'States that are expected. Any other is kept unchanged and gives one warning. For invoices, see invoices.states.',
  {
    customer: states([], 'Known states of a customer. Empty: none is known, and none is unexpected.'),
    order: states(['confirmed'], 'Known states of an order. Empty: none is known, and none is unexpected.'),
  },
);

export const adoptionSettings = group('Customers that the service already has, created by somebody else.', {
  customers: choice(
    ['exact', 'off'],
    'exact: an existing customer is adopted when its code is exactly ours; differences are held for review. off: a person decides about each. A name or an e-mail address alone never matches.',
  ),
  codeField: text
    .default('customer_code')
    .describe(
      'Where the code is, in the answer to a single read and in a record that an answer carries, such as data.customer_code. The id is there too, unless the service gives ids: then see idField.',
    ),
  idField: place('data.id')
    .optional()
    .describe(
      'Where the id is in the same places, if the service gives ids. Absent: at service.acknowledgement.customerId.',
    ),
  ownFields: z
    .array(text)
    .default(['id', 'created_at', 'updated_at'])
    .describe(
      'Fields of a customer that the service fills itself. Where updates are a PUT, any other field that only the service has counts as a difference, because a PUT would clear it. The id, the state and a key in the body never count.',
    ),
  answerRecord: place('error.customer')
    .optional()
    .describe(
      'Where the answer "already exists" carries the existing customer, such as error.customer. Absent: the service is asked for it.',
    ),
});

/** The settings that are checked together. */
type Relevant = Partly<{ service: { answers: z.output<typeof answersSettings> } }>;

/** The class of an answer decides what to do about it, so one answer can not have two. */
export function checkAnswers({ service }: Relevant, report: Report): void {
  const seen = new Map<string, string>();
  for (const [meaning, patterns] of Object.entries(service?.answers ?? {})) {
    // `gone` applies to removals only, so it contradicts no other class.
    if (meaning === 'gone') continue;
    for (const [index, entry] of ((patterns ?? []) as (Partly<AnswerPattern> | undefined)[]).entries()) {
      if (entry?.status === undefined) continue;
      const key = JSON.stringify([entry.status, entry.code, entry.pattern]);
      const other = seen.get(key);
      if (other === undefined) seen.set(key, `service.answers.${meaning}[${index}]`);
      else
        report(`service.answers.${meaning}.${index}`, `is the same answer as ${other}`, { hint: 'remove one of them' });
    }
  }
}
