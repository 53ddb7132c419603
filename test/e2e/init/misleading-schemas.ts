/** Small schemas in which the plainest names lead astray, with what a person who knows the ERP says of each. */
export interface MisleadingSchema {
  /** The fault that follows where this is guessed. */
  trap: string;
  type: 'sqlite' | 'postgres';
  statements: readonly string[];
  /** Question → the flags that answer it. Each of them has to be answered. */
  answers: Readonly<Record<string, readonly string[]>>;
  /** The total of each order that arrives, by its number, in cents. */
  totals: Readonly<Record<string, number>>;
  /** As they arrive, by their code. */
  customers: Readonly<Record<string, string | undefined>>;
  /** Numbers of the orders that wait for a person. */
  parked?: number;
  /** The evidence beside the answers: question → some of its candidates. */
  shown?: Readonly<Record<string, readonly { value: string; note: string }[]>>;
}

const tables = (orders: string, lines: string, customers: string) => ({
  'orders-table': ['--orders-table', orders],
  'lines-table': ['--lines-table', lines],
  'customers-table': ['--customers-table', customers],
});
const columns = (named: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(named).map(([role, column]) => [`column ${role}`, ['--column', `${role}=${column}`]]),
  );
const each = (text: string, rows: readonly number[]) => Object.fromEntries(rows.map((row) => [`${text}${row}`, 1000]));
const upTo = (n: number) => Array.from({ length: n }, (_, at) => at + 1);
const plain = {
  currency: ['--currency', 'EUR'],
  'time-zone': ['--time-zone', 'UTC'],
  'start-from': ['--start-from', 'all'],
};
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
const ofShop = {
  ...tables('orders', 'order_lines', 'customers'),
  ...columns({ 'order.customer': 'customer_id', 'line.qty': 'qty', 'line.price': 'price' }),
  status: ['--status', 'open'],
  ...plain,
};

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
    answers: {
      ...tables('c_order', 'c_orderline', 'c_bpartner'),
      ...columns({ 'order.customer': 'c_bpartner_id', 'line.qty': 'qtyordered', 'line.price': 'priceactual' }),
      status: ['--status', 'CO'],
      ...plain,
    },
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
    answers: {
      ...tables('sales_order', 'sales_order_line', 'customer'),
      ...columns({ 'order.customer': 'customer_id', 'line.qty': 'qty', 'line.price': 'price' }),
      status: ['--status', 'open'],
      'orders-with': ['--orders-with', 'is_quotation=false', '--orders-with', 'record_type=sales_order'],
      ...plain,
    },
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
    answers: {
      ...tables('sales_order', 'sales_order_line', 'customer'),
      ...columns({ 'order.customer': 'customer_id', 'line.qty': 'qty', 'line.price': 'price' }),
      'lines-with': ['--lines-with', 'none'],
      status: ['--status', 'open'],
      ...plain,
    },
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
    answers: {
      ...tables('s_order', 's_order_details', 's_user'),
      ...columns({
        'line.order': 'orderID',
        'order.customer': 'userID',
        'line.qty': 'quantity',
        'line.price': 'price',
      }),
      status: ['--status', '0'],
      ...plain,
    },
    totals: { 20001: 1000, 20002: 2000 },
    customers: { 1: undefined, 2: undefined },
    shown: {
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
    answers: { ...ofShop, ...columns({ 'order.currency': 'order_currency_code' }) },
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
    answers: { ...ofShop, discount: ['--discount', 'percent'] },
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
    answers: { ...ofShop, 'lines-with': ['--lines-with', 'deleted_at=NULL'] },
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
    answers: {
      ...tables('sales_order', 'sales_order_item', 'customer_entity'),
      ...columns({ 'order.customer': 'customer_id', 'line.qty': 'qty_ordered', 'line.price': 'row_total' }),
      'column line.price': ['--column', 'line.amount=row_total'],
      status: ['--status', 'complete'],
      ...plain,
    },
    totals: { 1: 1000, 2: 2000 },
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
    answers: {
      ...tables('wp_wc_orders', 'wp_wc_order_product_lookup', 'wp_wc_customer_lookup'),
      ...columns({ 'line.order': 'order_id', 'order.customer': 'customer_id', 'customer.key': 'user_id' }),
      ...columns({ 'line.qty': 'product_qty' }),
      'column line.price': ['--column', 'line.amount=total'],
      status: ['--status', 'wc-completed'],
      ...plain,
    },
    totals: { 10: 1000, 11: 2000 },
    customers: { 1: undefined, 2: undefined },
    shown: {
      'column customer.key': [
        { value: 'customer.key=customer_id', note: '2 of 2 keys are there' },
        { value: 'customer.key=user_id', note: '2 of 2 keys are there' },
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
    answers: { ...ofShop, ...columns({ 'order.total': 'total' }) },
    totals: { N2: 2000 },
    parked: 1,
    customers: { 1: 'Anna' },
    shown: {
      'column order.total': [
        { value: 'order.total=items_total', note: '2 of 2 orders come to it' },
        { value: 'order.total=total', note: '1 of 2 orders come to it' },
      ],
    },
  },
];
