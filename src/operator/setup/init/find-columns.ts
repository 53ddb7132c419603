import type { CatalogueColumn, CatalogueTable } from '../../../erp/catalogue.js';
import { type ColumnRole, columnWords, fold } from './words.js';

/** Judged by its type; or a text or a whole number, whose values have to show it. Not who did it, such as created_by. */
const isTime = ({ kind, isInteger, name }: CatalogueColumn) =>
  kind === 'time' || kind === 'date' || ((kind === 'text' || isInteger) && !/(by|von|user|id)$/.test(fold(name)));
/** Not what points to another table, such as fk_product_price. */
export const isNumber = ({ kind, name }: CatalogueColumn) => kind === 'number' && !/^fk|id$/.test(fold(name));
const isMoney = ({ kind, isInteger }: CatalogueColumn) => kind === 'number' && !isInteger;
const isWord = ({ kind }: CatalogueColumn) => kind === 'text' || kind === 'number';
const isText = ({ kind }: CatalogueColumn) => kind === 'text';

/** The columns that can play each role. */
const fits: Record<ColumnRole, (column: CatalogueColumn) => boolean> = {
  'customer.key': isWord,
  'customer.code': isWord,
  'customer.name': isText,
  'customer.email': isText,
  'customer.phone': isText,
  'customer.street': isText,
  'customer.postcode': isWord,
  'customer.city': isText,
  'customer.country': isText,
  'customer.changedAt': ({ kind }) => kind === 'time',
  'order.customer': isWord,
  'order.number': isWord,
  'order.changedAt': ({ kind }) => kind === 'time',
  'order.created': isTime,
  'order.status': (column) => isWord(column) && !isMoney(column),
  'order.currency': isText,
  'order.total': isNumber,
  'line.order': isWord,
  'line.qty': isNumber,
  'line.price': isNumber,
  'line.amount': isNumber,
  'line.discount': isNumber,
  'line.sku': isWord,
  'line.position': ({ isInteger }) => isInteger,
};

/**
 * The columns of a table that may play a role, the likeliest first: by the plainness of the name, then by what it holds, then
 * as they stand in the table.
 */
export function columnsFor(table: CatalogueTable, role: ColumnRole): CatalogueColumn[] {
  const words: readonly RegExp[] = columnWords[role];
  const rank = (column: CatalogueColumn) => {
    const at = words.findIndex((word) => word.test(fold(column.name)));
    if (at < 0 || !fits[role](column)) return null;
    // A key of several columns has parts that are called like numbers.
    const isKeyPart = table.primaryKey.length > 1 && table.primaryKey.includes(column.name) ? 0.5 : 0;
    const isExact = role.startsWith('order.c') && column.kind !== 'text' && !column.isInteger ? 0 : 0.25;
    return at + isKeyPart + isExact;
  };
  return table.columns
    .flatMap((column) => {
      const at = rank(column);
      return at === null ? [] : [{ column, at }];
    })
    .sort((a, b) => a.at - b.at)
    .map(({ column }) => column);
}

/** Columns that a person named: role → column. */
export type GivenColumns = Readonly<Partial<Record<ColumnRole, string>>>;

/** The columns for a role: the one that a person named, else what may play it. */
export function candidates(table: CatalogueTable, role: ColumnRole, given: GivenColumns): CatalogueColumn[] {
  const wanted = given[role];
  if (wanted === undefined) return columnsFor(table, role);
  return table.columns.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase());
}
