/** Tables of Odoo 17 that a sales order needs, with its names and types. */
export const odooTables = `
  CREATE TABLE res_country (id SERIAL PRIMARY KEY, name JSONB NOT NULL, code VARCHAR(2));
  CREATE TABLE res_currency (id SERIAL PRIMARY KEY, name VARCHAR(3) NOT NULL, active BOOL);
  CREATE TABLE res_partner (id SERIAL PRIMARY KEY, name VARCHAR, ref VARCHAR, email VARCHAR, street VARCHAR, zip VARCHAR,
    city VARCHAR, country_id INT REFERENCES res_country, parent_id INT REFERENCES res_partner, is_company BOOL, active BOOL,
    create_date TIMESTAMP, write_date TIMESTAMP);
  CREATE TABLE product_product (id SERIAL PRIMARY KEY, default_code VARCHAR, active BOOL, write_date TIMESTAMP);
  CREATE TABLE sale_order (id SERIAL PRIMARY KEY, name VARCHAR NOT NULL, partner_id INT NOT NULL REFERENCES res_partner,
    currency_id INT REFERENCES res_currency, state VARCHAR, client_order_ref VARCHAR, note TEXT,
    date_order TIMESTAMP NOT NULL, commitment_date TIMESTAMP, validity_date DATE, amount_untaxed NUMERIC, amount_tax NUMERIC,
    amount_total NUMERIC, create_date TIMESTAMP, write_date TIMESTAMP);
  CREATE TABLE sale_order_line (id SERIAL PRIMARY KEY, order_id INT NOT NULL REFERENCES sale_order ON DELETE CASCADE,
    sequence INT, product_id INT REFERENCES product_product, name TEXT NOT NULL, display_type VARCHAR,
    product_uom_qty NUMERIC NOT NULL, price_unit NUMERIC NOT NULL, discount NUMERIC, price_subtotal NUMERIC,
    price_tax FLOAT8, price_total NUMERIC, create_date TIMESTAMP, write_date TIMESTAMP);`;

/** A fresh database with demo data: everything is of one moment. */
export const odooDemo = `
  INSERT INTO res_country (name, code) VALUES ('{"en_US": "Germany", "de_DE": "Deutschland"}', 'DE');
  INSERT INTO res_currency (name, active) VALUES ('EUR', true), ('USD', true);
  INSERT INTO product_product (default_code, active) VALUES ('FURN_7777', true), ('DESK0006', true), (NULL, true);
  INSERT INTO res_partner (name, email, street, zip, city, country_id, parent_id, is_company, active, write_date) VALUES
    ('Azure Interior', 'azure@example.test', 'Hauptstraße 1', '10115', 'Berlin', 1, NULL, true, true, '2026-03-01 08:00:00.123456'),
    (NULL, '', NULL, NULL, NULL, NULL, 1, false, true, '2026-03-01 08:00:00.123456');
  INSERT INTO sale_order (name, partner_id, currency_id, state, date_order, create_date, write_date)
    SELECT 'S' || lpad(n::text, 5, '0'), 1 + n % 2, CASE WHEN n = 18 THEN 2 ELSE 1 END,
      CASE WHEN n = 19 THEN 'draft' WHEN n = 20 THEN 'cancel' ELSE 'sale' END,
      '2026-03-01 07:30:00', '2026-03-01 08:00:00.123456', '2026-03-01 08:00:00.123456' FROM generate_series(1, 20) n;
  INSERT INTO sale_order_line (order_id, sequence, product_id, name, product_uom_qty, price_unit, discount)
    SELECT id, 10, 1, 'Office Chair', 1 + id % 4, 70.00, CASE WHEN id % 5 = 0 THEN 10 ELSE 0 END FROM sale_order;
  INSERT INTO sale_order_line (order_id, sequence, product_id, name, product_uom_qty, price_unit, discount)
    SELECT id, 20, 2, 'Customizable Desk', 3, 199.99, 0 FROM sale_order WHERE id % 3 = 0;
  INSERT INTO sale_order_line (order_id, sequence, name, display_type, product_uom_qty, price_unit)
    SELECT id, 15, 'Delivery by hand', 'line_note', 0, 0 FROM sale_order;
  -- 2.5 of something, which is no whole number
  INSERT INTO sale_order_line (order_id, sequence, product_id, name, product_uom_qty, price_unit, discount)
    VALUES (17, 30, 2, 'Desk by the metre', 2.5, 10, 0);
  ${computed()}`;

/** The amounts that Odoo computes when it writes an order: the lines to two decimals, and their sum. */
export function computed(): string {
  return `UPDATE sale_order_line SET price_subtotal = ROUND(product_uom_qty * price_unit * (1 - COALESCE(discount, 0) / 100.0), 2);
    UPDATE sale_order o SET amount_untaxed = (SELECT SUM(price_subtotal) FROM sale_order_line l WHERE l.order_id = o.id)`;
}
