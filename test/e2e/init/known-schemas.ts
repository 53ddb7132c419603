/** Small stand-ins for the five ERPs that `init` knows: their names and types, with rows of our own and their traps. */

/** Dolibarr 22 on MariaDB: free text lines, drafts, a foreign currency with amounts of its own, a prefix of the installation. */
export const dolibarr = [
  'CREATE TABLE llx_const (rowid INT PRIMARY KEY, name VARCHAR(180) NOT NULL, entity INT NOT NULL DEFAULT 1, value TEXT NOT NULL)',
  "INSERT INTO llx_const VALUES (1, 'MAIN_MONNAIE', 1, 'EUR'), (2, 'MAIN_MONNAIE', 7, 'USD')",
  'CREATE TABLE llx_c_country (rowid INT PRIMARY KEY, code VARCHAR(2) NOT NULL UNIQUE, label VARCHAR(128) NOT NULL)',
  "INSERT INTO llx_c_country VALUES (1, 'FR', 'France'), (5, 'DE', 'Germany')",
  `CREATE TABLE llx_societe (rowid INT AUTO_INCREMENT PRIMARY KEY, nom VARCHAR(128), entity INT NOT NULL DEFAULT 1, statut TINYINT DEFAULT 0,
    code_client VARCHAR(24), address VARCHAR(255), zip VARCHAR(25), town VARCHAR(50), fk_pays INT DEFAULT 0, phone VARCHAR(30),
    email VARCHAR(128), client TINYINT DEFAULT 0, fournisseur TINYINT DEFAULT 0,
    tms TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)`,
  `INSERT INTO llx_societe (rowid, nom, code_client, address, zip, town, fk_pays, client) VALUES
    (1, 'Indian SAS', 'CU1212-0007', '1 alalah road', NULL, 'Paris', 1, 1), (2, 'NLTechno', NULL, NULL, NULL, NULL, 0, 1)`,
  'CREATE TABLE llx_product (rowid INT PRIMARY KEY, ref VARCHAR(128) NOT NULL, entity INT NOT NULL DEFAULT 1, label VARCHAR(255))',
  "INSERT INTO llx_product VALUES (1, 'PINKDRESS', 1, 'Pink dress'), (2, 'APPLEPIE', 1, 'Apple pie')",
  `CREATE TABLE llx_commande (rowid INT AUTO_INCREMENT PRIMARY KEY, ref VARCHAR(30) NOT NULL, entity INT NOT NULL DEFAULT 1,
    ref_client VARCHAR(255), fk_soc INT NOT NULL, tms TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    date_creation DATETIME, date_valid DATETIME, date_commande DATE, fk_statut SMALLINT DEFAULT 0, remise_percent DOUBLE DEFAULT 0,
    total_tva DOUBLE(24,8) DEFAULT 0, total_ht DOUBLE(24,8) DEFAULT 0, total_ttc DOUBLE(24,8) DEFAULT 0, note_public MEDIUMTEXT,
    multicurrency_code VARCHAR(3), multicurrency_tx DOUBLE(24,8) DEFAULT 1, multicurrency_total_ht DOUBLE(24,8) DEFAULT 0,
    UNIQUE KEY uk_commande_ref (ref, entity), FOREIGN KEY (fk_soc) REFERENCES llx_societe (rowid))`,
  `CREATE TABLE llx_commandedet (rowid INT AUTO_INCREMENT PRIMARY KEY, fk_commande INT NOT NULL, fk_product INT, label VARCHAR(255),
    description MEDIUMTEXT, qty DOUBLE, remise_percent DOUBLE DEFAULT 0, price DOUBLE, subprice DOUBLE(24,8) DEFAULT 0,
    total_ht DOUBLE(24,8) DEFAULT 0, total_tva DOUBLE(24,8) DEFAULT 0, total_ttc DOUBLE(24,8) DEFAULT 0, product_type INT DEFAULT 0,
    rang INT DEFAULT 0, multicurrency_subprice DOUBLE(24,8) DEFAULT 0, multicurrency_total_ht DOUBLE(24,8) DEFAULT 0,
    FOREIGN KEY (fk_commande) REFERENCES llx_commande (rowid))`,
  'CREATE TABLE llx_commande_fournisseur (rowid INT PRIMARY KEY, ref VARCHAR(30), fk_soc INT, fk_statut SMALLINT, total_ht DOUBLE(24,8))',
  `INSERT INTO llx_commande (rowid, ref, fk_soc, fk_statut, date_creation, total_ht, multicurrency_code, multicurrency_tx, multicurrency_total_ht) VALUES
    (1, 'CO1107-0002', 1, 1, '2026-02-01 10:00:00', 93.49, 'EUR', 1, 93.49), (2, 'CO1107-0003', 2, 2, '2026-02-02 10:00:00', 12.5, NULL, NULL, NULL),
    (3, '(PROV3)', 1, 0, '2026-02-03 10:00:00', 5, 'EUR', 1, 5), (4, 'CO1107-0005', 1, -1, '2026-02-03 10:00:00', 5, 'EUR', 1, 5),
    (5, 'CO1107-0006', 1, 1, '2026-02-04 10:00:00', 100, 'USD', 1.1, 110), (6, 'CO0501-0001', 1, 1, '2020-01-01 10:00:00', 5, 'EUR', 1, 5)`,
  `INSERT INTO llx_commandedet (fk_commande, fk_product, description, qty, subprice, remise_percent, total_ht, rang, multicurrency_total_ht) VALUES
    (1, 1, '', 3, 33.5, 7, 93.47, 1, 93.47), (1, NULL, 'A free line', 2, 0.01, 0, 0.02, 2, 0.02), (1, NULL, 'A heading', 0, 0, 0, 0, 3, 0),
    (2, 2, '', 5, 2.5, 0, 12.5, 1, 0), (2, NULL, 'A subtotal of a module', 99, 0, 0, 0, 2, 0), (3, 1, '', 1, 5, 0, 5, 1, 5), (4, 1, '', 1, 5, 0, 5, 1, 5), (5, 1, '', 2, 50, 0, 100, 1, 110),
    (6, 1, '', 1, 5, 0, 5, 1, 5)`,
  "UPDATE llx_commandedet SET product_type = 9 WHERE description = 'A subtotal of a module'",
];

/** ERPNext 15 on MariaDB: the name is the key, two companies, net amounts after a discount of the order. */
export const erpnext = [
  `CREATE TABLE tabCustomer (name VARCHAR(140) PRIMARY KEY, creation DATETIME(6), modified DATETIME(6), docstatus TINYINT NOT NULL DEFAULT 0,
    customer_name VARCHAR(140), customer_group VARCHAR(140), email_id VARCHAR(140), mobile_no VARCHAR(140))`,
  `CREATE TABLE \`tabSales Order\` (name VARCHAR(140) PRIMARY KEY, creation DATETIME(6), modified DATETIME(6), docstatus TINYINT NOT NULL DEFAULT 0,
    customer VARCHAR(140), company VARCHAR(140), transaction_date DATE, delivery_date DATE, currency VARCHAR(140), total DECIMAL(21,9),
    net_total DECIMAL(21,9), grand_total DECIMAL(21,9), status VARCHAR(140) DEFAULT 'Draft')`,
  `CREATE TABLE \`tabSales Order Item\` (name VARCHAR(140) PRIMARY KEY, parent VARCHAR(140), parentfield VARCHAR(140), parenttype VARCHAR(140),
    idx INT NOT NULL DEFAULT 0, item_code VARCHAR(140), qty DECIMAL(21,9), rate DECIMAL(21,9), amount DECIMAL(21,9), net_rate DECIMAL(21,9),
    net_amount DECIMAL(21,9))`,
  `INSERT INTO tabCustomer VALUES ('West View Software Ltd.', NOW(6), NOW(6), 0, 'West View Software Ltd.', 'Commercial', 'w@example.test', NULL)`,
  `INSERT INTO \`tabSales Order\` VALUES
    ('SAL-ORD-2026-00001', '2026-02-01 10:00:00.5', '2026-02-01 10:00:00.5', 1, 'West View Software Ltd.', 'Wind Power', '2026-02-01', '2026-02-08', 'EUR', 300, 270, 321.3, 'To Deliver and Bill'),
    ('SAL-ORD-2026-00002', '2026-02-01 10:00:00.5', '2026-02-01 10:00:00.5', 0, 'West View Software Ltd.', 'Wind Power', '2026-02-01', '2026-02-08', 'EUR', 1, 1, 1, 'Draft'),
    ('SAL-ORD-2026-00003', '2026-02-01 10:00:00.5', '2026-02-01 10:00:00.5', 2, 'West View Software Ltd.', 'Wind Power', '2026-02-01', '2026-02-08', 'EUR', 1, 1, 1, 'Cancelled'),
    ('SAL-ORD-2026-00004', '2026-02-01 10:00:00.5', '2026-02-01 10:00:00.5', 1, 'West View Software Ltd.', 'Sun Power', '2026-02-01', NULL, 'EUR', 1, 1, 1, 'To Bill'),
    ('SAL-ORD-2026-00005', '2026-02-01 10:00:00.5', '2026-02-01 10:00:00.5', 1, 'West View Software Ltd.', 'Wind Power', '2026-02-01', NULL, 'EUR', 10, 10, 10, 'To Deliver')`,
  `INSERT INTO \`tabSales Order Item\` VALUES
    ('a', 'SAL-ORD-2026-00001', 'items', 'Sales Order', 1, 'Wind Turbine-L', 3, 100, 300, 90, 270),
    ('b', 'SAL-ORD-2026-00002', 'items', 'Sales Order', 1, 'Wind Turbine-L', 1, 1, 1, 1, 1),
    ('c', 'SAL-ORD-2026-00003', 'items', 'Sales Order', 1, 'Wind Turbine-L', 1, 1, 1, 1, 1),
    ('d', 'SAL-ORD-2026-00004', 'items', 'Sales Order', 1, 'Wind Turbine-L', 1, 1, 1, 1, 1),
    ('e', 'SAL-ORD-2026-00005', 'items', 'Sales Order', 1, 'Wind Turbine-M', 2.5, 4, 10, 4, 10),
    ('x', 'SAL-ORD-2026-00001', 'items', 'Quotation', 2, 'Of another document', 1, 1, 1, 1, 1)`,
  'ALTER TABLE `tabSales Order` ADD COLUMN amended_from VARCHAR(140)',
];

/** webERP 4 on MariaDB: doubles, a fraction as discount, HTML entities, BLOBs, empty dates, no total and no time of change. */
export const weberp = [
  "SET sql_mode = ''",
  `CREATE TABLE currencies (currency CHAR(20) NOT NULL DEFAULT '', currabrev CHAR(3) NOT NULL PRIMARY KEY, decimalplaces TINYINT(3) NOT NULL DEFAULT 2)`,
  "INSERT INTO currencies VALUES ('US Dollars', 'USD', 2), ('Japanese Yen', 'JPY', 0)",
  `CREATE TABLE debtorsmaster (debtorno VARCHAR(10) NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL DEFAULT '', address1 VARCHAR(40) NOT NULL DEFAULT '',
    address2 VARCHAR(40) NOT NULL DEFAULT '', address3 VARCHAR(40) NOT NULL DEFAULT '', address4 VARCHAR(50) NOT NULL DEFAULT '',
    address5 VARCHAR(20) NOT NULL DEFAULT '', address6 VARCHAR(40) NOT NULL DEFAULT '', currcode CHAR(3) NOT NULL DEFAULT '')`,
  `INSERT INTO debtorsmaster (debtorno, name, address1, address3, address5, address6, currcode) VALUES
    ('ANGRY', 'Angus Rouledge &amp; Co', '123 Alexander Road', 'Leeds', '', 'United Kingdom', 'USD'), ('JAP', 'Tokyo KK', '', '', '', '', 'JPY')`,
  `CREATE TABLE salesorders (orderno INT NOT NULL PRIMARY KEY, debtorno VARCHAR(10) NOT NULL DEFAULT '', branchcode VARCHAR(10) NOT NULL DEFAULT '',
    customerref VARCHAR(50) NOT NULL DEFAULT '', comments LONGBLOB, orddate DATE NOT NULL DEFAULT '0000-00-00', fromstkloc VARCHAR(5) NOT NULL DEFAULT '',
    deliverydate DATE NOT NULL DEFAULT '0000-00-00', quotation TINYINT NOT NULL DEFAULT 0,
    freightcost DOUBLE NOT NULL DEFAULT 0)`,
  `CREATE TABLE salesorderdetails (orderlineno INT NOT NULL DEFAULT 0, orderno INT NOT NULL DEFAULT 0, stkcode VARCHAR(20) NOT NULL DEFAULT '',
    unitprice DOUBLE NOT NULL DEFAULT 0, quantity DOUBLE NOT NULL DEFAULT 0, discountpercent DOUBLE NOT NULL DEFAULT 0, PRIMARY KEY (orderlineno, orderno))`,
  `INSERT INTO salesorders (orderno, debtorno, orddate, deliverydate, quotation, freightcost) VALUES (1, 'ANGRY', '2026-02-01', '2026-02-08', 0, 12.5),
    (2, 'ANGRY', '2026-02-01', '1000-01-01', 0, 0), (3, 'ANGRY', '2026-02-01', '0000-00-00', 1, 0), (4, 'JAP', '2026-02-01', '0000-00-00', 0, 0)`,
  `INSERT INTO salesorderdetails VALUES (0, 1, 'BREAD', 33.5, 1, 0.07), (1, 1, 'SALT', 2.5, 2, 0), (0, 2, 'BREAD', 10.333, 3, 0),
    (0, 3, 'SALT', 1, 1, 0), (0, 4, 'SALT', 250, 2, 0)`,
];

/** FrontAccounting 2.4 on MariaDB: a composite key, tables that begin with a digit, references that are `auto`. */
export const frontaccounting = [
  `CREATE TABLE 0_debtors_master (debtor_no INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(100) NOT NULL DEFAULT '', debtor_ref VARCHAR(30) NOT NULL UNIQUE,
    address TINYTEXT, curr_code CHAR(3) NOT NULL DEFAULT '')`,
  "INSERT INTO 0_debtors_master VALUES (1, 'Donald Easter LLC', 'Donald Easter', 'N/A', 'USD'), (2, 'MoneyMaker Ltd.', 'MoneyMaker', '', 'EUR')",
  'CREATE TABLE 0_debtor_trans (trans_no INT UNSIGNED NOT NULL, type SMALLINT NOT NULL, PRIMARY KEY (type, trans_no))',
  `CREATE TABLE 0_sales_orders (order_no INT NOT NULL, trans_type SMALLINT NOT NULL DEFAULT 30, version TINYINT(1) UNSIGNED NOT NULL DEFAULT 0,
    type TINYINT(1) NOT NULL DEFAULT 0, debtor_no INT NOT NULL DEFAULT 0, reference VARCHAR(100) NOT NULL DEFAULT '', ord_date DATE NOT NULL,
    delivery_date DATE NOT NULL, freight_cost DOUBLE NOT NULL DEFAULT 0, total DOUBLE NOT NULL DEFAULT 0, PRIMARY KEY (trans_type, order_no))`,
  `CREATE TABLE 0_sales_order_details (id INT AUTO_INCREMENT PRIMARY KEY, order_no INT NOT NULL DEFAULT 0, trans_type SMALLINT NOT NULL DEFAULT 30,
    stk_code VARCHAR(20) NOT NULL DEFAULT '', unit_price DOUBLE NOT NULL DEFAULT 0, quantity DOUBLE NOT NULL DEFAULT 0,
    discount_percent DOUBLE NOT NULL DEFAULT 0)`,
  `INSERT INTO 0_sales_orders VALUES (1, 30, 1, 0, 1, 'auto', '2026-05-10', '2026-05-11', 0, 6240), (2, 30, 0, 0, 1, '002/2026', '2026-05-10', '2026-05-11', 15, 36.15),
    (1, 32, 0, 0, 1, '001/2026', '2026-05-10', '2026-05-11', 0, 300), (3, 30, 0, 1, 1, '003/2026', '2026-05-10', '2026-05-11', 0, 450),
    (4, 30, 0, 0, 2, '004/2026', '2026-05-10', '2026-05-11', 0, 267.14)`,
  `INSERT INTO 0_sales_order_details (order_no, trans_type, stk_code, unit_price, quantity, discount_percent) VALUES (1, 30, '101', 300, 20, 0),
    (1, 30, '301', 80, 3, 0), (2, 30, '101', 7.05, 3, 0), (1, 32, '101', 300, 1, 0), (3, 30, '202', 90, 5, 0), (4, 30, '101', 267.14, 1, 0)`,
];
