import { SeededRandom } from '../seeded-random.js';

export type SampleValue = string | number | null;

const FLAWS = [
  'ordersWithoutLines',
  'fractionalQuantities',
  'negativeQuantities',
  'pricesWithThreeDecimals',
  'missingCustomers',
  'totalMismatches',
] as const;
type Flaw = (typeof FLAWS)[number];

/** The number of rows to make of each kind that a reader must show to a person instead of sending. */
export type BadRows = Partial<Record<Flaw, number>>;

interface SampleCounts {
  /** Customers that an eligible order names. */
  customers: number;
  /** Orders that can be sent. */
  orders: number;
  bad: BadRows;
}

interface SampleRows {
  customers: SampleValue[][];
  products: SampleValue[][];
  orders: SampleValue[][];
  lines: SampleValue[][];
  ineligibleOrders: number;
  /** Ids of the orders with bad rows, by what is wrong with them. */
  bad: Record<Flaw, number[]>;
}

type Place = readonly [postcode: string, city: string, country: string];

const COMPANIES = [
  'Müller & Söhne GmbH',
  'Bäckerei Weißkopf',
  "O'Brien Trading Ltd",
  'Café Crème &amp; Co. KG',
  'Åkerlund Möbler AB',
  'Łódzkie Zakłady Sp. z o.o.',
  'Ferretería Ñandú S.L.',
  'Schmidt "Werkzeug" OHG',
  "L'Atelier d'Été SARL",
  'Großhandel Übelhör',
] as const;
const CITIES: readonly [Place, ...Place[]] = [
  ['10115', 'Berlin', 'DE'],
  ['80331', 'München', 'DE'],
  ['50667', 'Köln', 'DE'],
  ['1010', 'Wien', 'AT'],
  ['8001', 'Zürich', 'CH'],
  ['31000', 'Toulouse', 'FR'],
  ['D02 X285', 'Dublin', 'IE'],
];
const STREETS = ['Hauptstraße', 'Gewerbepark Süd', 'Am Mühlbach', "Rue de l'Église", 'Quai'] as const;
const GOODS = [
  'Schraube M8×40',
  'Türgriff "Elegance"',
  'Kabel 3x1,5 mm²',
  'Farbe weiß 10 l',
  'Fräser Ø 12',
  'Dübel',
] as const;
const REMARKS = ['Bitte vor 12 Uhr anliefern', 'Ship with order #12 & call first', "Don't split", ''] as const;
const PRODUCTS = 60;
/** Customers and orders are spread from here. No date depends on the day on which the sample is made. */
const FIRST_DAY = Date.UTC(2026, 0, 5, 8, 0, 0);
const BEFORE_START = Date.UTC(2025, 9, 6, 8, 0, 0);
const LONGEST_SPAN = 20 * 86_400_000;
const NO_SUCH_CUSTOMER = 9_000_001;

interface OrderDraft {
  customerId: number;
  status: string;
  from: number;
  flaw: Flaw | null;
}

/** The rows of a sample ERP: the same seed and counts give the same rows. */
export function makeSampleRows(seed: number, { customers, orders, bad }: SampleCounts): SampleRows {
  const random = new SeededRandom(seed);
  if (orders < customers) {
    throw new RangeError(`${orders} orders cannot name ${customers} customers: ask for more orders.`);
  }
  const withoutOrders = Math.max(2, Math.floor(customers / 20));
  const rows: SampleRows = {
    customers: Array.from({ length: customers + withoutOrders }, (_, index) => customerRow(index + 1, random)),
    products: Array.from({ length: PRODUCTS }, (_, index) => productRow(index + 1, random)),
    orders: [],
    lines: [],
    ineligibleOrders: 0,
    bad: Object.fromEntries(FLAWS.map((flaw): [Flaw, number[]] => [flaw, []])) as SampleRows['bad'],
  };
  const drafts = draftOrders(random, { customers, orders, bad });
  const step = Math.max(1, Math.min(61_000, Math.floor(LONGEST_SPAN / drafts.length)));
  let changedAt = 0;
  drafts.forEach((draft, index) => {
    // A nightly import gives several orders the very same time.
    if (index % 50 >= 4 || index === 0) changedAt = index * step + random.below(step);
    const micros = index % 50 < 4 ? 0 : random.below(1000);
    addOrder(rows, index + 1, draft, sampleTime(draft.from + changedAt, micros), random);
  });
  return rows;
}

function draftOrders(random: SeededRandom, { customers, orders, bad }: SampleCounts): OrderDraft[] {
  const eligible = (index: number, flaw: Flaw | null = null): OrderDraft => ({
    customerId: index < customers ? index + 1 : random.between(1, customers),
    status: 'confirmed',
    from: FIRST_DAY,
    flaw,
  });
  const drafts = Array.from({ length: orders }, (_, index) => eligible(index));
  for (const [flaw, count] of Object.entries(bad) as [Flaw, number][]) {
    for (let index = 0; index < count; index += 1) {
      const draft = eligible(customers, flaw);
      drafts.push(flaw === 'missingCustomers' ? { ...draft, customerId: NO_SUCH_CUSTOMER + index } : draft);
    }
  }
  const ineligible = Math.max(6, Math.floor(orders / 10));
  for (let index = 0; index < ineligible; index += 1) {
    const draft = eligible(customers);
    if (index % 3 === 0) drafts.push({ ...draft, status: 'draft' });
    else if (index % 3 === 1) drafts.push({ ...draft, status: 'cancelled' });
    else drafts.push({ ...draft, from: BEFORE_START });
  }
  // Shuffled: good, bad and ineligible rows lie among each other, as they do in life.
  for (let index = drafts.length - 1; index > 0; index -= 1) {
    const other = random.below(index + 1);
    [drafts[index], drafts[other]] = [drafts[other] as OrderDraft, drafts[index] as OrderDraft];
  }
  return drafts;
}

function customerRow(id: number, random: SeededRandom): SampleValue[] {
  const [postcode, city, country] = random.pick(CITIES);
  const name = random.pick(COMPANIES);
  const time = sampleTime(BEFORE_START - 86_400_000 + id * 1000, random.below(1000));
  const branch = id % 4 === 0 ? `${name} Filiale ${id}` : name;
  const email = random.chance(80) ? `info${id}@example.com` : null;
  const street = `${random.pick(STREETS)} ${random.between(1, 199)}`;
  return [id, `K${10_000 + id}`, branch, email, street, postcode, city, country, time, time];
}

function productRow(id: number, random: SeededRandom): SampleValue[] {
  const sku = `SKU-${String(id).padStart(4, '0')}`;
  return [id, sku, `${random.pick(GOODS)} Nr. ${id}`, decimal(random.between(99, 49_999))];
}

function addOrder(rows: SampleRows, id: number, draft: OrderDraft, time: string, random: SeededRandom): void {
  const { customerId, status, flaw } = draft;
  const wanted = flaw === 'ordersWithoutLines' ? 0 : random.between(1, 5);
  let totalCents = 0;
  for (let line = 1; line <= wanted; line += 1) {
    const product = random.between(1, PRODUCTS);
    const cents = Math.round(Number(rows.products[product - 1]?.[3]) * 100);
    const qty = random.between(1, 20);
    totalCents += qty * cents;
    const good = { qty: `${qty}.000`, price: decimal(cents) };
    const written = line === 1 ? { ...good, ...flawOfLine(flaw, cents) } : good;
    rows.lines.push([rows.lines.length + 1, id, line, product, written.qty, written.price]);
  }
  if (flaw === 'totalMismatches' || flaw === 'ordersWithoutLines') totalCents += 1000;
  if (flaw !== null) rows.bad[flaw].push(id);
  if (status !== 'confirmed' || draft.from === BEFORE_START) rows.ineligibleOrders += 1;
  const orderNo = `A-2026-${String(id).padStart(6, '0')}`;
  const total = decimal(totalCents);
  const remark = random.pick(REMARKS);
  rows.orders.push([id, orderNo, customerId, status, time.slice(0, 10), 'EUR', total, remark, time, time]);
}

function flawOfLine(flaw: Flaw | null, cents: number): { qty?: string; price?: string } {
  if (flaw === 'fractionalQuantities') return { qty: '1.500' };
  if (flaw === 'negativeQuantities') return { qty: '-2.000' };
  return flaw === 'pricesWithThreeDecimals' ? { price: `${decimal(cents)}5` } : {};
}

/** An amount in cents as decimal text. */
export function decimal(cents: number): string {
  return (cents / 100).toFixed(2);
}

/** Wall time with microseconds. The hours of the sample's days are those on the wall, so no zone is applied. */
function sampleTime(milliseconds: number, micros: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 23).replace('T', ' ')}${String(micros).padStart(3, '0')}`;
}
