import { answersFor, type InitAnswers, type Named } from './init-answers.js';

/** Small schemas in which the plainest names lead astray, with what a person who knows the ERP says of each. */
export interface MisleadingSchema {
  /** The fault that follows where this is guessed. */
  trap: string;
  type: 'sqlite' | 'postgres' | 'mysql';
  statements: readonly string[];
  /** Question → the flags that answer it. Each of them has to be answered. */
  answers: InitAnswers;
  /** The total of each order that arrives, by its number, in cents. */
  totals: Readonly<Record<string, number>>;
  /** As they arrive, by their code. */
  customers: Readonly<Record<string, string | undefined>>;
  /** Numbers of the orders that wait for a person. */
  parked?: number;
  /** The evidence beside the answers: question → some of its candidates. */
  shown?: Readonly<Record<string, readonly { value: string; note: string }[]>>;
  /** No candidate of the question is like this. */
  notShown?: Readonly<Record<string, RegExp>>;
}

const each = (text: string, rows: readonly number[]) => Object.fromEntries(rows.map((row) => [`${text}${row}`, 1000]));
const upTo = (n: number) => Array.from({ length: n }, (_, at) => at + 1);
/** Customers, orders and lines, plain but for some columns. */
const shop = (orders: string, lines: string) => [
  'CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(50))',
  `CREATE TABLE orders (id INTEGER PRIMARY KEY, number VARCHAR(20), customer_id INTEGER REFERENCES customers (id), status VARCHAR(20), created_at DATETIME, ${orders})`,
  `CREATE TABLE order_lines (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders (id), sku VARCHAR(20), qty INTEGER, price DECIMAL(12,2), ${lines})`,
  "INSERT INTO customers VALUES (1, 'Anna')",
  `INSERT INTO orders (id, number, customer_id, status, created_at) VALUES (1, 'N1', 1, 'open', '2026-01-05 10:00:00'),
    (2, 'N2', 1, 'open', '2026-01-06 10:00:00')`,
  "INSERT INTO order_lines (id, order_id, sku, qty, price) VALUES (1, 1, 'A', 1, 10), (2, 2, 'B', 1, 20)",
];
const ofShop = (columns: Named['columns'] = {}, flags: Named['flags'] = {}) =>
  answersFor({
    ...{ orders: 'orders', lines: 'order_lines', customers: 'customers', flags },
    columns: {
      ...{
        'order.number': 'number',
        'order.created': 'created_at',
        'order.changedAt': 'none',
        'order.status': 'status',
      },
      ...{
        'order.customer': 'customer_id',
        'customer.code': 'id',
        'line.qty': 'qty',
        'line.price': 'price',
        ...columns,
      },
    },
  });

/** The sales of two customers, on PostgreSQL. */
const ofSales = (columns: Named['columns'], flags: Named['flags']) =>
  answersFor({
    ...{ orders: 'sales_order', lines: 'sales_order_line', customers: 'customer', flags },
    columns: {
      ...{ 'order.number': 'number', 'order.created': 'order_date', 'order.changedAt': 'updated_at' },
      ...{ 'order.status': 'status', 'order.customer': 'customer_id', 'customer.code': 'number' },
      ...{ 'line.qty': 'qty', 'line.price': 'price', ...columns },
    },
  });

export const misleadingSchemas: readonly MisleadingSchema[] = [
  {
    trap: 'the own company becomes the customer of every order',
    type: 'postgres',
    statements: [
      'CREATE TABLE ad_client (ad_client_id NUMERIC(10,0) PRIMARY KEY, value VARCHAR(40), name VARCHAR(60) NOT NULL)',
      `CREATE TABLE c_bpartner (c_bpartner_id NUMERIC(10,0) PRIMARY KEY, ad_client_id NUMERIC(10,0) REFERENCES ad_client,
        value VARCHAR(40) NOT NULL, name VARCHAR(60) NOT NULL)`,
      `CREATE TABLE c_order (c_order_id NUMERIC(10,0) PRIMARY KEY, ad_client_id NUMERIC(10,0) NOT NULL REFERENCES ad_client,
        c_bpartner_id NUMERIC(10,0) NOT NULL REFERENCES c_bpartner, documentno VARCHAR(30), docstatus CHAR(2), dateordered TIMESTAMP,
        totallines NUMERIC, updated TIMESTAMP DEFAULT now())`,
      `CREATE TABLE c_orderline (c_orderline_id NUMERIC(10,0) PRIMARY KEY, c_order_id NUMERIC(10,0) REFERENCES c_order, line NUMERIC,
        sku VARCHAR(20), qtyordered NUMERIC, priceactual NUMERIC)`,
      "INSERT INTO ad_client VALUES (11, 'GW', 'GardenWorld (we ourselves)')",
      "INSERT INTO c_bpartner VALUES (101, 11, 'C1', 'Joe Block'), (102, 11, 'C2', 'Seed Farm')",
      "INSERT INTO c_order SELECT i, 11, 101 + i % 2, '80' || i, 'CO', '2026-10-01', 10 FROM generate_series(1, 20) i",
      "INSERT INTO c_orderline SELECT i, i, 10, 'A', 1, 10 FROM generate_series(1, 20) i",
    ],
    answers: answersFor({
      ...{ orders: 'c_order', lines: 'c_orderline', customers: 'c_bpartner', flags: { status: 'CO' } },
      columns: {
        ...{ 'order.number': 'documentno', 'order.created': 'dateordered', 'order.changedAt': 'updated' },
        ...{ 'order.status': 'docstatus', 'order.customer': 'c_bpartner_id', 'order.total': 'totallines' },
        ...{ 'customer.code': 'c_bpartner_id', 'line.qty': 'qtyordered', 'line.price': 'priceactual' },
      },
    }),
    totals: each('80', upTo(20)),
    customers: { 101: 'Joe Block', 102: 'Seed Farm' },
    shown: {
      'column order.customer': [
        { value: 'order.customer=c_bpartner_id', note: 'a key of c_bpartner, 2 different in 20 orders' },
        { value: 'order.customer=ad_client_id', note: 'a key of ad_client, 1 different in 20 orders' },
      ],
    },
  },
  {
    trap: 'quotations are sent: a boolean, an enum or a lookup table tells them',
    type: 'postgres',
    statements: [
      "CREATE TYPE doc_kind AS ENUM ('order', 'quotation')",
      'CREATE TABLE customer (id SERIAL PRIMARY KEY, number TEXT UNIQUE, name TEXT)',
      "CREATE TABLE oe_class (id INT PRIMARY KEY, label TEXT); INSERT INTO oe_class VALUES (1, 'Sales Order'), (2, 'Purchase Order')",
      `CREATE TABLE sales_order (id SERIAL PRIMARY KEY, number TEXT, customer_id INT REFERENCES customer, order_date DATE, status TEXT,
        net_total NUMERIC(12,2), is_quotation BOOLEAN NOT NULL DEFAULT false, kind2 doc_kind NOT NULL DEFAULT 'order', flag INT,
        record_type TEXT, class_id INT REFERENCES oe_class, updated_at TIMESTAMP DEFAULT now())`,
      `CREATE TABLE sales_order_line (id SERIAL PRIMARY KEY, sales_order_id INT REFERENCES sales_order, sku TEXT, qty INT,
        price NUMERIC(12,2))`,
      "INSERT INTO customer (number, name) VALUES ('C1', 'A'), ('C2', 'B')",
      `INSERT INTO sales_order (number, customer_id, order_date, status, net_total, is_quotation, kind2, flag, record_type, class_id)
        SELECT 'S' || i, 1 + i % 2, '2026-10-01', 'open', 10, i % 4 = 0, (CASE WHEN i % 4 = 0 THEN 'quotation' ELSE 'order' END)::doc_kind,
          i % 2, (ARRAY['sales_quotation', 'sales_order', 'request_quotation', 'purchase_order', 'sales_order_intake'])[1 + i % 5],
          1 + i % 2 FROM generate_series(1, 20) i`,
      "INSERT INTO sales_order_line (sales_order_id, sku, qty, price) SELECT id, 'A', 1, 10 FROM sales_order",
    ],
    answers: ofSales(
      { 'order.total': 'net_total' },
      { 'orders-with': ['is_quotation=false', 'record_type=sales_order'] },
    ),
    totals: each('S', [1, 6, 11]),
    customers: { C2: 'B', C1: 'A' },
    shown: {
      'orders-with': [
        { value: 'is_quotation', note: 'false: 15, true: 5' },
        { value: 'kind2', note: 'order: 15, quotation: 5' },
        { value: 'flag', note: '0: 10, 1: 10' },
        {
          value: 'record_type',
          note: 'purchase_order: 4, request_quotation: 4, sales_order: 4, sales_order_intake: 4, sales_quotation: 4',
        },
        { value: 'class_id', note: '1 (Sales Order): 10, 2 (Purchase Order): 10' },
      ],
    },
  },
  {
    trap: 'prices per hundred are sent as prices for one, and the total that tells it is dropped',
    type: 'postgres',
    statements: [
      'CREATE TABLE customer (id SERIAL PRIMARY KEY, number TEXT UNIQUE, name TEXT)',
      `CREATE TABLE sales_order (id SERIAL PRIMARY KEY, number TEXT, customer_id INT REFERENCES customer, order_date DATE, status TEXT,
        net_total NUMERIC(12,2), updated_at TIMESTAMP DEFAULT now())`,
      `CREATE TABLE sales_order_line (id SERIAL PRIMARY KEY, sales_order_id INT REFERENCES sales_order, sku TEXT, qty INT,
        price NUMERIC(12,2), price_factor NUMERIC(15,5) DEFAULT 1, optional BOOLEAN DEFAULT false)`,
      "INSERT INTO customer (number, name) VALUES ('C1', 'A'), ('C2', 'B')",
      `INSERT INTO sales_order (number, customer_id, order_date, status, net_total)
        SELECT 'S' || i, 1 + i % 2, '2026-10-01', 'open', CASE WHEN i % 10 = 0 THEN 112.50 ELSE 10 END FROM generate_series(1, 60) i`,
      `INSERT INTO sales_order_line (sales_order_id, sku, qty, price, price_factor) SELECT id, 'A', CASE WHEN id % 10 = 0 THEN 250 ELSE 1 END,
        CASE WHEN id % 10 = 0 THEN 45 ELSE 10 END, CASE WHEN id % 10 = 0 THEN 100 ELSE 1 END FROM sales_order`,
    ],
    answers: ofSales({ 'order.total': 'net_total', 'line.discount': 'none' }, { 'lines-with': 'none' }),
    totals: each(
      'S',
      upTo(60).filter((n) => n % 10 !== 0),
    ),
    parked: 6,
    customers: { C1: 'A', C2: 'B' },
    shown: { 'lines-with': [{ value: 'price_factor', note: '1.00000: 54, 100.00000: 6' }] },
  },
  {
    trap: 'a shipping method becomes the customer, and a secret becomes a name',
    type: 'sqlite',
    statements: [
      `CREATE TABLE s_order (id INT PRIMARY KEY, ordernumber VARCHAR(20), userID INT, invoice_amount DECIMAL(10,2), ordertime DATETIME,
        status INT, dispatchID INT, currency VARCHAR(5))`,
      'CREATE TABLE s_order_details (id INT PRIMARY KEY, orderID INT, sku VARCHAR(20), price DECIMAL(10,2), quantity INT)',
      `CREATE TABLE s_user (id INT PRIMARY KEY, confirmationkey VARCHAR(100) NOT NULL, email VARCHAR(70), firstname VARCHAR(50),
        lastname VARCHAR(50))`,
      'CREATE TABLE s_premium_dispatch (id INT PRIMARY KEY, name VARCHAR(50), description TEXT)',
      `INSERT INTO s_user VALUES (1, '3f9a-secret-token', 'anna@example.org', 'Anna', 'Example'),
        (2, '77aa-secret-token', 'bob@example.org', 'Bob', 'Example')`,
      "INSERT INTO s_premium_dispatch VALUES (9, 'Standard Versand', '')",
      `INSERT INTO s_order VALUES (1, '20001', 1, 10.00, '2026-01-05 10:00:00', 0, 9, 'EUR'),
        (2, '20002', 2, 20.00, '2026-01-06 10:00:00', 0, 9, 'EUR')`,
      "INSERT INTO s_order_details VALUES (1, 1, 'A', 10.00, 1), (2, 2, 'B', 20.00, 1)",
    ],
    answers: answersFor({
      ...{ orders: 's_order', lines: 's_order_details', customers: 's_user', flags: { status: '0' } },
      columns: {
        ...{ 'order.number': 'ordernumber', 'order.created': 'ordertime', 'order.status': 'status' },
        ...{ 'line.order': 'orderID', 'order.customer': 'userID', 'customer.code': 'id' },
        ...{ 'customer.name': 'firstname+lastname', 'line.qty': 'quantity', 'line.price': 'price' },
        ...{ 'order.total': 'invoice_amount', 'order.currency': 'currency' },
      },
    }),
    totals: { 20001: 1000, 20002: 2000 },
    customers: { 1: 'Anna Example', 2: 'Bob Example' },
    shown: {
      'column customer.name': [
        {
          value: 'customer.name=confirmationkey',
          note: 'in all 2 rows, each another, such as 3f9a-secret-token, 77aa-secret-token',
        },
      ],
      'column order.customer': [
        { value: 'order.customer=userID', note: '2 different in 2 orders' },
        { value: 'order.customer=dispatchID', note: '1 different in 2 orders' },
      ],
    },
  },
  {
    trap: 'two columns tell a currency, and francs are sent as euros',
    type: 'sqlite',
    statements: [
      ...shop('base_currency_code VARCHAR(3), order_currency_code VARCHAR(3), grand_total DECIMAL(12,4)', 'x INT'),
      "UPDATE orders SET base_currency_code = 'EUR', order_currency_code = CASE id WHEN 1 THEN 'eur' ELSE 'chf' END, grand_total = 10 * id",
    ],
    answers: ofShop({ 'order.currency': 'order_currency_code', 'order.total': 'grand_total' }),
    totals: { N1: 1000 },
    customers: { 1: 'Anna' },
    shown: {
      'column order.currency': [
        { value: 'order.currency=base_currency_code', note: 'EUR: 2' },
        { value: 'order.currency=order_currency_code', note: 'chf: 1, eur: 1' },
      ],
    },
  },
  {
    trap: 'a discount that is empty where there is none parks its line',
    type: 'sqlite',
    statements: [
      ...shop('x INT', 'discount_percent DECIMAL(7,3)'),
      'UPDATE order_lines SET discount_percent = 10 WHERE id = 2',
    ],
    answers: ofShop({ 'line.discount': 'discount_percent' }, { discount: 'percent' }),
    totals: { N1: 1000, N2: 1800 },
    customers: { 1: 'Anna' },
  },
  {
    trap: 'lines that were removed are sent',
    type: 'sqlite',
    statements: [
      ...shop('x INT', 'deleted_at DATETIME'),
      "INSERT INTO order_lines VALUES (3, 1, 'REMOVED', 1, 99, '2026-01-05 11:00:00')",
    ],
    answers: ofShop({}, { 'lines-with': 'deleted_at=NULL' }),
    totals: { N1: 1000, N2: 2000 },
    customers: { 1: 'Anna' },
    shown: { 'lines-with': [{ value: 'deleted_at', note: 'NULL: 2, NOT NULL: 1' }] },
  },
  {
    trap: 'a flag becomes the quantity, and the key of the orders their company',
    type: 'sqlite',
    statements: [
      'CREATE TABLE customer_entity (entity_id INTEGER PRIMARY KEY, email VARCHAR(50))',
      `CREATE TABLE sales_order (entity_id INTEGER PRIMARY KEY, increment_id VARCHAR(20), customer_id INTEGER REFERENCES customer_entity
        (entity_id), status VARCHAR(20), created_at DATETIME)`,
      `CREATE TABLE sales_order_item (item_id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES sales_order (entity_id), sku VARCHAR(20),
        is_qty_decimal SMALLINT, qty_ordered DECIMAL(12,4), row_total DECIMAL(12,2))`,
      "INSERT INTO customer_entity VALUES (1, 'anna@example.org')",
      `INSERT INTO sales_order VALUES (1, '100000001', 1, 'complete', '2026-01-05 10:00:00'),
        (2, '100000002', 1, 'complete', '2026-01-06 10:00:00')`,
      "INSERT INTO sales_order_item VALUES (1, 1, 'A', 1, 5, 10), (2, 2, 'B', 1, 4, 20)",
    ],
    answers: answersFor({
      ...{
        orders: 'sales_order',
        lines: 'sales_order_item',
        customers: 'customer_entity',
        flags: { status: 'complete' },
      },
      columns: {
        ...{ 'order.number': 'increment_id', 'order.created': 'created_at', 'order.status': 'status' },
        ...{ 'order.customer': 'customer_id', 'customer.code': 'entity_id', 'customer.name': 'none' },
        ...{ 'line.qty': 'qty_ordered', 'line.amount': 'row_total' },
      },
    }),
    totals: { 100000001: 1000, 100000002: 2000 },
    customers: { 1: undefined },
    shown: {
      'column line.qty': [
        { value: 'line.qty=is_qty_decimal', note: '1 to 1' },
        { value: 'line.qty=qty_ordered', note: '4 to 5' },
      ],
    },
  },
  {
    trap: 'two tables share a column name and mean different keys by it',
    type: 'sqlite',
    statements: [
      'CREATE TABLE wp_users (ID BIGINT PRIMARY KEY, display_name VARCHAR(50), user_email VARCHAR(50))',
      `CREATE TABLE wp_wc_customer_lookup (customer_id BIGINT PRIMARY KEY, user_id BIGINT UNIQUE, username VARCHAR(50), email VARCHAR(50),
        city VARCHAR(50))`,
      `CREATE TABLE wp_wc_orders (id BIGINT PRIMARY KEY, status VARCHAR(20), currency VARCHAR(10), total_amount DECIMAL(26,8),
        customer_id BIGINT, billing_email VARCHAR(50), date_created_gmt DATETIME)`,
      `CREATE TABLE wp_wc_order_product_lookup (order_item_id BIGINT PRIMARY KEY, order_id BIGINT, product_qty INT, sku VARCHAR(20),
        total DECIMAL(12,2))`,
      "INSERT INTO wp_users VALUES (1, 'Anna', 'anna@example.org'), (2, 'Bob', 'bob@example.org')",
      "INSERT INTO wp_wc_customer_lookup VALUES (1, 2, 'bob', 'bob@example.org', 'X'), (2, 1, 'anna', 'anna@example.org', 'Y')",
      `INSERT INTO wp_wc_orders VALUES (10, 'wc-completed', 'EUR', 10, 1, 'anna@example.org', '2026-01-05 10:00:00'),
        (11, 'wc-completed', 'EUR', 20, 2, 'bob@example.org', '2026-01-06 10:00:00')`,
      "INSERT INTO wp_wc_order_product_lookup VALUES (1, 10, 1, 'A', 10), (2, 11, 1, 'B', 20)",
    ],
    answers: answersFor({
      ...{ orders: 'wp_wc_orders', lines: 'wp_wc_order_product_lookup', customers: 'wp_wc_customer_lookup' },
      columns: {
        ...{ 'order.number': 'id', 'order.created': 'date_created_gmt', 'order.status': 'status' },
        ...{ 'line.order': 'order_id', 'order.customer': 'customer_id', 'customer.key': 'user_id' },
        ...{
          'customer.code': 'user_id',
          'customer.name': 'username',
          'line.qty': 'product_qty',
          'line.amount': 'total',
        },
        ...{ 'order.total': 'total_amount', 'order.currency': 'currency' },
      },
      flags: { status: 'wc-completed' },
    }),
    totals: { 10: 1000, 11: 2000 },
    customers: { 1: 'anna', 2: 'bob' },
    shown: {
      'column customer.key': [
        {
          value: 'customer.key=customer_id',
          note: '2 of 2 keys are there, billing_email is email in 0 of 2 orders',
        },
        { value: 'customer.key=user_id', note: '2 of 2 keys are there, billing_email is email in 2 of 2 orders' },
      ],
    },
  },
  {
    trap: 'the lines come to a sub-total, and freight is missing',
    type: 'sqlite',
    statements: [
      ...shop('items_total DECIMAL(12,2), adjustments_total DECIMAL(12,2), total DECIMAL(12,2)', 'x INT'),
      'UPDATE orders SET items_total = 10 * id, adjustments_total = CASE id WHEN 1 THEN 4.99 ELSE 0 END, total = 10 * id + CASE id WHEN 1 THEN 4.99 ELSE 0 END',
    ],
    answers: ofShop({ 'order.total': 'total' }),
    totals: { N2: 2000 },
    parked: 1,
    customers: { 1: 'Anna' },
    shown: {
      'column order.total': [
        { value: 'order.total=items_total', note: '2 of 2 orders come to it' },
        {
          value: 'order.total=total',
          note: '1 of 2 orders come to it; the other 1 differ by 4.99 together, such as N1 (lines 10.00, ERP 14.99)',
        },
      ],
    },
  },
  {
    trap: 'an address becomes the customer, as the buyer is called party',
    type: 'sqlite',
    statements: [
      'CREATE TABLE party_party (id INTEGER PRIMARY KEY, code VARCHAR(20), name VARCHAR(50))',
      'CREATE TABLE party_address (id INTEGER PRIMARY KEY, party INTEGER REFERENCES party_party (id), street VARCHAR(50))',
      `CREATE TABLE sale_sale (id INTEGER PRIMARY KEY, number VARCHAR(20), party INTEGER REFERENCES party_party (id), invoice_address INTEGER
        REFERENCES party_address (id), shipment_address INTEGER REFERENCES party_address (id), state VARCHAR(20), sale_date DATE,
        company INTEGER)`,
      'CREATE TABLE sale_line (id INTEGER PRIMARY KEY, sale INTEGER, sku VARCHAR(20), quantity DOUBLE, unit_price NUMERIC)',
      "INSERT INTO party_party VALUES (1, 'P1', 'Anna'), (2, 'P2', 'Bert')",
      "INSERT INTO party_address VALUES (7, 2, 'B street'), (8, 1, 'A street')",
      `INSERT INTO sale_sale VALUES (101, 'S1', 1, 7, 8, 'processing', '2026-01-05', 1), (102, 'S2', 2, 7, 7, 'processing', '2026-01-06', 1),
        (103, 'S3', 2, 7, 7, 'draft', '2026-01-06', 2)`,
      "INSERT INTO sale_line VALUES (1, 101, 'A', 1, 10), (2, 102, 'A', 1, 10), (3, 103, 'A', 1, 10)",
    ],
    answers: answersFor({
      ...{ orders: 'sale_sale', lines: 'sale_line', customers: 'party_party' },
      columns: {
        ...{
          'order.number': 'number',
          'order.created': 'sale_date',
          'order.status': 'state',
          'order.customer': 'party',
        },
        ...{
          'customer.code': 'code',
          'line.order': 'sale',
          'order.total': 'none',
          'line.qty': 'quantity',
          'line.price': 'unit_price',
        },
      },
      // No order is done yet.
      flags: { status: 'processing,done', completed: 'done', 'orders-with': 'company=1' },
    }),
    totals: { S1: 1000, S2: 1000 },
    customers: { P1: 'Anna', P2: 'Bert' },
    shown: {
      'column order.customer': [
        { value: 'order.customer=party', note: 'a key of party_party, 2 different in 3 orders' },
        { value: 'order.customer=invoice_address', note: 'a key of party_address, 1 different in 3 orders' },
      ],
      'column line.order': [{ value: 'line.order=sale', note: '3 of 3 keys are there' }],
    },
  },
  {
    trap: 'the SKU comes from a table that no line leads to, and an e-mail becomes the street',
    type: 'sqlite',
    statements: [
      "CREATE TABLE channel (id INTEGER PRIMARY KEY, code VARCHAR(20)); INSERT INTO channel VALUES (1, '__default')",
      'CREATE TABLE product_variant (id INTEGER PRIMARY KEY, sku VARCHAR(20))',
      'CREATE TABLE customer (id INTEGER PRIMARY KEY, firstName TEXT, lastName TEXT, emailAddress TEXT, title TEXT, phone_id TEXT)',
      `CREATE TABLE "order" (id INTEGER PRIMARY KEY, code TEXT UNIQUE, customerId INTEGER REFERENCES customer (id), state TEXT, placed DATETIME)`,
      `CREATE TABLE order_line (id INTEGER PRIMARY KEY, orderId INTEGER REFERENCES "order" (id), sellerChannelId INTEGER REFERENCES channel (id),
        productVariantId INTEGER REFERENCES product_variant (id), quantity INTEGER, listPrice INTEGER)`,
      "INSERT INTO product_variant VALUES (3, 'VE-3'), (4, 'VE-4')",
      "INSERT INTO customer VALUES (1, 'Åsa', 'Berg', 'asa@example.org', NULL, 'x')",
      `INSERT INTO "order" VALUES (1, 'KRY63', 1, 'Shipped', '2026-01-05 10:00:00'), (2, 'KRY64', 1, 'Shipped', '2026-01-05 10:00:00')`,
      'INSERT INTO order_line VALUES (1, 1, NULL, 3, 2, 500), (2, 2, NULL, 4, 1, 1050)',
    ],
    answers: answersFor({
      ...{ orders: 'order', lines: 'order_line', customers: 'customer' },
      columns: {
        ...{
          'order.number': 'code',
          'order.created': 'placed',
          'order.status': 'state',
          'order.customer': 'customerId',
        },
        ...{
          'customer.code': 'id',
          'customer.name': 'firstName+lastName',
          'line.sku': 'productVariantId>product_variant.sku',
        },
        ...{ 'line.qty': 'quantity', 'line.price': 'listPrice', 'line.discount': '' },
      },
      flags: { status: 'Shipped', 'money-unit': 'minor' },
    }),
    totals: { KRY63: 1000, KRY64: 1050 },
    customers: { 1: 'Åsa Berg' },
    shown: {
      'column line.sku': [
        {
          value: 'line.sku=productVariantId>product_variant.sku',
          note: 'in all 2 rows, each another, such as VE-3, VE-4',
        },
      ],
    },
    notShown: { 'column line.sku': /channel/, 'column customer.name': /=(title|phone_id)$/ },
  },
  {
    trap: 'old versions of lines are sent',
    type: 'sqlite',
    statements: [
      ...shop('version INTEGER', 'version INTEGER'),
      'UPDATE orders SET version = id',
      'UPDATE order_lines SET version = order_id',
      "INSERT INTO order_lines VALUES (3, 2, 'OLD', 5, 20, 1), (4, 2, 'OLD', 7, 20, 1)",
    ],
    answers: ofShop({ 'order.total': 'none', 'line.discount': 'none' }, { 'lines-with': 'version=order.version' }),
    totals: { N1: 1000, N2: 2000 },
    customers: { 1: 'Anna' },
    shown: {
      'lines-with': [
        {
          value: 'version',
          note: '1: 3, 2: 1, the orders have version too: version=order.version takes the lines that have the same as their order',
        },
      ],
    },
  },
  {
    trap: 'a bundle and its parts are both sent',
    type: 'sqlite',
    statements: [
      ...shop('grand_total DECIMAL(12,2)', 'parent_id INTEGER'),
      'UPDATE orders SET grand_total = 10 * id',
      "INSERT INTO order_lines VALUES (3, 2, 'PART', 1, 20, 2)",
    ],
    answers: ofShop({ 'order.total': 'grand_total', 'line.discount': '' }, { 'lines-with': 'parent_id=NULL' }),
    totals: { N1: 1000, N2: 2000 },
    customers: { 1: 'Anna' },
    shown: { 'lines-with': [{ value: 'parent_id', note: 'NULL: 2, 2: 1' }] },
  },
  {
    trap: 'guests wait for ever, and cancelled orders stay at the service unsaid',
    type: 'sqlite',
    statements: [
      ...shop('x INT', 'x INT'),
      "INSERT INTO orders VALUES (3, 'N3', NULL, 'open', '2026-01-06 10:00:00', 1), (4, 'N4', 1, 'void', '2026-01-06 10:00:00', 1)",
      "INSERT INTO order_lines VALUES (3, 3, 'A', 1, 10, 1), (4, 4, 'A', 1, 10, 1)",
      'UPDATE orders SET x = 1; UPDATE order_lines SET x = 1',
    ],
    answers: ofShop({ 'order.total': 'none', 'line.discount': 'none' }, { guests: 'leave-out', cancelled: 'void' }),
    totals: { N1: 1000, N2: 2000 },
    customers: { 1: 'Anna' },
    shown: { cancelled: [{ value: 'void', note: '1 order' }] },
  },
  {
    trap: 'lines are multiplied by a ratio that nothing checks',
    type: 'sqlite',
    statements: [
      ...shop('x VARCHAR(1)', 'price_ratio DECIMAL(10,5)'),
      "INSERT INTO order_lines VALUES (3, 1, 'C', 1, 5, 1)",
      'UPDATE order_lines SET price_ratio = CASE id WHEN 2 THEN 100 ELSE 1 END',
    ],
    answers: ofShop({ 'line.discount': 'none' }, { 'lines-with': 'price_ratio=1' }),
    totals: { N1: 1500 },
    // Its only line is left out: a person sees it.
    parked: 1,
    customers: { 1: 'Anna' },
    shown: { 'column line.discount': [{ value: 'line.discount=price_ratio', note: '1 to 100' }] },
  },
  {
    trap: 'products in a table that no key leads to have no SKU',
    type: 'sqlite',
    statements: [
      'CREATE TABLE article (articleID INTEGER PRIMARY KEY, ordernumber TEXT, sku TEXT)',
      ...shop('x VARCHAR(1)', 'articleID INTEGER'),
      "INSERT INTO article VALUES (5, 'A5', 'S5'), (6, 'A6', 'S6')",
      'UPDATE order_lines SET articleID = 4 + id, sku = NULL',
    ],
    answers: ofShop({ 'line.sku': 'articleID>article.ordernumber', 'line.discount': 'none' }),
    totals: { N1: 1000, N2: 2000 },
    customers: { 1: 'Anna' },
  },
  {
    trap: 'keys of bytes can not be read',
    type: 'mysql',
    statements: [
      'DROP TABLE IF EXISTS order_line_item, orders, customer',
      'CREATE TABLE customer (id BINARY(16) PRIMARY KEY, name VARCHAR(50))',
      `CREATE TABLE orders (id BINARY(16) PRIMARY KEY, order_number VARCHAR(20), customer_id BINARY(16), status VARCHAR(20),
        created_at DATETIME, FOREIGN KEY (customer_id) REFERENCES customer (id))`,
      `CREATE TABLE order_line_item (id BINARY(16) PRIMARY KEY, order_id BINARY(16), sku VARCHAR(20), quantity INT, price DECIMAL(12,2),
        FOREIGN KEY (order_id) REFERENCES orders (id))`,
      "INSERT INTO customer VALUES (UNHEX(MD5('c')), 'Anna')",
      "INSERT INTO orders VALUES (UNHEX(MD5('o')), 'N1', UNHEX(MD5('c')), 'open', '2026-01-05 10:00:00')",
      "INSERT INTO order_line_item VALUES (UNHEX(MD5('l')), UNHEX(MD5('o')), 'A', 1, 10)",
    ],
    answers: answersFor({
      ...{ orders: 'orders', lines: 'order_line_item', customers: 'customer' },
      columns: {
        ...{ 'order.number': 'order_number', 'order.created': 'created_at', 'order.status': 'status' },
        ...{ 'order.customer': 'customer_id', 'customer.code': 'id', 'line.qty': 'quantity', 'line.price': 'price' },
      },
    }),
    totals: { N1: 1000 },
    customers: { '4A8A08F09D37B73795649038408B5F33': 'Anna' },
  },
  {
    trap: 'a table beside the orders marks those that were removed',
    type: 'sqlite',
    statements: [
      'CREATE TABLE crmentity (crmid INTEGER PRIMARY KEY, deleted INTEGER)',
      'INSERT INTO crmentity VALUES (1, 0), (2, 1), (3, 0)',
      ...shop('x VARCHAR(1), FOREIGN KEY (id) REFERENCES crmentity (crmid)', 'x VARCHAR(1)'),
      "INSERT INTO orders (id, number, customer_id, status, created_at) VALUES (3, 'N3', 1, 'open', '2026-01-05 10:00:00')",
      "INSERT INTO order_lines (id, order_id, sku, qty, price) VALUES (3, 3, 'A', 1, 10)",
    ],
    answers: ofShop({}, { 'orders-with': 'crmentity.deleted=0' }),
    totals: { N1: 1000, N3: 1000 },
    customers: { 1: 'Anna' },
    shown: { 'orders-with': [{ value: 'crmentity.deleted', note: '0: 2, 1: 1' }] },
  },
];
