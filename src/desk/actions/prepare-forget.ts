import { customerTraces, forgetCustomer, whyNotForget } from '../../operator/actions/forget-customer.js';
import type { JobContext } from '../../ops/job-context.js';
import { decoded, type Prepared, WrongAction } from './prepare.js';

/** What it would be to erase a customer’s personal data, or why that can't be yet. Writes nothing. @throws WrongAction */
export async function prepareForget(context: JobContext, person: string, query: URLSearchParams): Promise<Prepared> {
  const sourceKey = decoded(query, 'record');
  if (sourceKey === null) throw new WrongAction('Say which customer is meant.');
  const traces = await context.store.read('look what is kept', (tx) => customerTraces(tx, sourceKey));
  const problem = whyNotForget(traces);
  const example = { entity: 'customer', key: sourceKey, number: null, why: problem ?? '' } as const;
  return {
    person,
    question: 'Erase the personal data',
    outcomeInWords: 'Erased',
    count: problem === null ? 1 : 0,
    noun: ['customer', 'customers'],
    isAll: true,
    totals: null,
    notes: [
      'Its key, its id at the service and hashes stay. Backups of the store, and the service itself, still hold the data.',
    ],
    rows: [],
    spread:
      problem === null
        ? [
            { name: 'body of its messages, erased', count: traces.bodies },
            { name: 'answer of the service, erased', count: traces.excerpts },
            { name: 'body of its orders, which stays: it shows the customer’s code alone', count: traces.orderBodies },
          ]
        : [],
    left: problem === null ? [] : [{ why: problem, count: 1, example }],
    act: async (actingContext, reason) => {
      const forgotten = await forgetCustomer(actingContext, sourceKey, reason);
      const isLeft = typeof forgotten === 'string';
      return { done: isLeft ? 0 : 1, left: isLeft ? [{ ...example, why: forgotten }] : [], reason };
    },
  };
}
