/** A person's answers about an unknown schema: question → the flags that answer it. */
export type InitAnswers = Readonly<Record<string, readonly string[]>>;

export interface Named {
  orders: string;
  lines: string;
  customers: string;
  /** Role → column. */
  columns: Readonly<Record<string, string>>;
  /** Flag → its answer, or several. */
  flags?: Readonly<Record<string, string | readonly string[]>>;
}

/** Answers that take no column where none is named, every state, and every order. */
export function answersFor({ orders, lines, customers, columns, flags = {} }: Named): InitAnswers {
  const roles: Record<string, string> = {
    ...{ 'order.created': 'none', 'order.changedAt': 'none', 'order.status': 'none', 'line.sku': 'sku' },
    ...{ 'customer.name': 'name' },
    ...columns,
  };
  const given: Record<string, string | readonly string[]> = {
    ...{ 'orders-table': orders, 'lines-table': lines, 'customers-table': customers },
    ...(roles['order.status'] === 'none' ? {} : { status: 'open', cancelled: 'none', completed: 'none' }),
    ...{ 'on-deleted': 'nothing', currency: 'EUR', 'time-zone': 'UTC', 'start-from': 'all' },
    ...flags,
  };
  return Object.fromEntries([
    ...Object.entries(roles)
      .filter(([, column]) => column !== '')
      .map(([role, column]) => {
        // An amount is an answer to the question for the price.
        const question = role === 'line.amount' ? 'line.price' : role;
        return [`column ${question}`, ['--column', `${role}=${column}`]];
      }),
    ...Object.entries(given)
      .filter(([, answer]) => answer !== '')
      .map(([flag, answer]) => [flag, [answer].flat().flatMap((one) => [`--${flag}`, one])]),
  ]);
}

export const flagsFor = (answers: InitAnswers, ...left: readonly string[]): string[] =>
  Object.entries(answers).flatMap(([question, flags]) => (left.includes(question) ? [] : flags));
