import { type CatalogueTable, countRows, nameOf } from '../../../erp/catalogue.js';
import type { Evidence, SetupStep } from '../../../model/setup-questions.js';
import { askBuyer, askCustomer, askCustomers } from './ask-customer.js';
import { askLines } from './ask-lines.js';
import { askMoney } from './ask-money.js';
import { askMarks, askOrders } from './ask-orders.js';
import { askTimeZone } from './ask-rest.js';
import { askTable, MOST_ROWS, type TableRole } from './ask-table.js';
import { composeDraft } from './compose-draft.js';
import type { Draft } from './draft.js';
import { declaredLinks } from './links.js';
import type { Schema } from './schema.js';

/**
 * The questions about an unknown schema, in four steps. No name and no figure settles any of them: they say what is shown
 * beside the candidates, and in which order.
 * @returns the draft; null while something is open
 */
export function askUnknown(schema: Schema): Draft | null {
  const { asking, facts, catalogue } = schema;
  const rows = facts.get(['rows'], async (snapshot) => {
    const counted: Record<string, number | null> = {};
    // Counting the rows of a view may take for ever.
    for (const table of catalogue.tables)
      counted[nameOf(table)] = table.isView ? null : await countRows(snapshot, table, MOST_ROWS);
    return counted;
  });
  if (rows === undefined) return null;
  const ask = (
    role: TableRole,
    step: SetupStep,
    likely: readonly CatalogueTable[],
    evidence = new Map<CatalogueTable, Evidence[]>(),
  ) => askTable(schema, rows, { role, step, likely, evidence });

  const orders = ask('orders', 'orders', []);
  const ordersChoice = orders && askOrders(schema, orders);
  askTimeZone(asking, { title: '' });
  const pointing = orders ? catalogue.tables.filter((one) => declaredLinks(one, orders).length > 0) : [];
  const lines = ask('lines', 'lines', pointing);
  if (orders && orders === lines) return wrongTable(schema, 'lines-table', nameOf(lines));
  const linesChoice = orders && lines && askLines(schema, orders, lines);
  const buyer = orders && askBuyer(schema, orders);
  const customers = askCustomers(schema, orders, buyer, { rows, ask });
  if (customers && (customers === orders || customers === lines))
    return wrongTable(schema, 'customers-table', nameOf(customers));
  const customerChoice = orders && customers && buyer ? askCustomer(schema, orders, customers, buyer) : undefined;
  const money =
    orders && lines && linesChoice?.link
      ? askMoney(schema, {
          orders,
          lines,
          link: linesChoice.link,
          number: ordersChoice?.number,
          sku: linesChoice.sku,
          customers,
          customer: customerChoice,
        })
      : undefined;
  const marks =
    orders &&
    askMarks(schema, orders, ordersChoice, [...(customerChoice?.link.columns ?? []), buyer, ...(money?.columns ?? [])]);
  if (
    !orders ||
    !lines ||
    !customers ||
    !ordersChoice?.isWhole ||
    !linesChoice?.isWhole ||
    !customerChoice ||
    !money?.whole ||
    !marks
  )
    return null;
  if (asking.open.some(({ isOptional }) => !isOptional) || asking.wrong.length > 0) return null;
  asking.tell({ code: 'tables', names: [orders, lines, customers].map(nameOf) });
  return composeDraft(schema.dialect, {
    ...{ orders, lines, customers, marks },
    ...{ order: ordersChoice, line: linesChoice, customer: customerChoice, money: money.whole },
  });
}

function wrongTable({ asking }: Schema, flag: string, answer: string): null {
  const step: SetupStep = flag === 'lines-table' ? 'lines' : 'customer';
  asking.wrong.push({ question: { step, flag, about: {}, candidates: [] }, answer, problem: { code: 'same_table' } });
  return null;
}
