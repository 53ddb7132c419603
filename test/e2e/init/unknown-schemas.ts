import { answersFor, flagsFor } from './init-answers.js';

/** Schemas that no preset knows, each in a style of its own, with what leads astray: purchase orders, quotations, gross totals. */

/** German names on MariaDB, declared keys, a discount in percent, prices as doubles. */
export const german = [
  `CREATE TABLE kunde (kunde_id INT AUTO_INCREMENT PRIMARY KEY, kundennummer VARCHAR(20) NOT NULL UNIQUE, firma VARCHAR(80) NOT NULL,
    strasse VARCHAR(80), plz VARCHAR(10), ort VARCHAR(60), land CHAR(2), email VARCHAR(100), geaendert_am DATETIME)`,
  'CREATE TABLE lieferant (lieferant_id INT PRIMARY KEY, firma VARCHAR(80))',
  'CREATE TABLE artikel (artikel_id INT PRIMARY KEY, artikelnummer VARCHAR(30) UNIQUE, bezeichnung VARCHAR(80), lagerbestand INT, preis DOUBLE)',
  `CREATE TABLE auftrag (auftrag_id INT PRIMARY KEY, auftragsnummer VARCHAR(20) UNIQUE, kunde_id INT NOT NULL, status VARCHAR(20),
    waehrung CHAR(3), auftragsdatum DATE, nettobetrag DECIMAL(12,2), mwst DECIMAL(12,2), bruttobetrag DECIMAL(12,2),
    angelegt_am DATETIME, geaendert_am DATETIME, FOREIGN KEY (kunde_id) REFERENCES kunde (kunde_id))`,
  `CREATE TABLE auftragsposition (position_id INT AUTO_INCREMENT PRIMARY KEY, auftrag_id INT NOT NULL, pos_nr INT, artikel_id INT,
    menge DECIMAL(10,3), einzelpreis DOUBLE, rabatt_prozent DECIMAL(5,2), FOREIGN KEY (auftrag_id) REFERENCES auftrag (auftrag_id),
    FOREIGN KEY (artikel_id) REFERENCES artikel (artikel_id))`,
  `CREATE TABLE bestellung (bestellung_id INT PRIMARY KEY, lieferant_id INT, bestelldatum DATE, betrag DECIMAL(12,2), status VARCHAR(20),
    FOREIGN KEY (lieferant_id) REFERENCES lieferant (lieferant_id))`,
  `CREATE TABLE bestellposition (id INT PRIMARY KEY, bestellung_id INT, menge INT, preis DECIMAL(12,2),
    FOREIGN KEY (bestellung_id) REFERENCES bestellung (bestellung_id))`,
  `CREATE TABLE angebot (angebot_id INT PRIMARY KEY, kunde_id INT, status VARCHAR(20), betrag DECIMAL(12,2), angebotsdatum DATE,
    FOREIGN KEY (kunde_id) REFERENCES kunde (kunde_id))`,
  `CREATE TABLE angebotsposition (id INT PRIMARY KEY, angebot_id INT, menge INT, preis DECIMAL(12,2),
    FOREIGN KEY (angebot_id) REFERENCES angebot (angebot_id))`,
  `INSERT INTO kunde VALUES (1, 'K-1001', 'Müller & Söhne', 'Hauptstraße 1', '10115', 'Berlin', 'DE', 'info@example.test', '2026-01-05 10:00:00'),
    (2, 'K-1002', 'Bäckerei Schröder', NULL, NULL, 'Köln', 'DE', NULL, '2026-01-05 10:00:00')`,
  "INSERT INTO lieferant VALUES (1, 'Stahl AG')",
  "INSERT INTO artikel VALUES (1, 'A-100', 'Schraube', 5, 0.1), (2, 'A-200', 'Kleinteil', 7, 33.5)",
  `INSERT INTO auftrag SELECT seq, CONCAT('AB-', 1000 + seq), 1 + seq % 2, ELT(1 + seq % 4, 'offen', 'freigegeben', 'freigegeben', 'storniert'),
    'EUR', '2026-02-01', 0, 0, 0, '2026-02-01 08:00:00', '2026-02-01 08:00:00' FROM seq_1_to_20`,
  `INSERT INTO auftragsposition (auftrag_id, pos_nr, artikel_id, menge, einzelpreis, rabatt_prozent)
    SELECT auftrag_id, 1, 1, 10 * auftrag_id, 0.1, 0 FROM auftrag`,
  `INSERT INTO auftragsposition (auftrag_id, pos_nr, artikel_id, menge, einzelpreis, rabatt_prozent)
    SELECT auftrag_id, 2, 2, 1, 33.5, 7 FROM auftrag WHERE auftrag_id % 3 = 0`,
  `UPDATE auftrag a SET nettobetrag = (SELECT SUM(ROUND(p.menge * CAST(p.einzelpreis AS DECIMAL(12,4)) * (1 - p.rabatt_prozent / 100), 2))
    FROM auftragsposition p WHERE p.auftrag_id = a.auftrag_id)`,
  'UPDATE auftrag SET mwst = ROUND(nettobetrag * 0.19, 2), bruttobetrag = nettobetrag + ROUND(nettobetrag * 0.19, 2)',
  "INSERT INTO bestellung VALUES (1, 1, '2026-01-01', 100, 'offen')",
  'INSERT INTO bestellposition VALUES (1, 1, 10, 10)',
  "INSERT INTO angebot VALUES (1, 1, 'offen', 100, '2026-01-01')",
  'INSERT INTO angebotsposition VALUES (1, 1, 10, 10)',
];

/** CamelCase on PostgreSQL in schemas of its own, prices to four decimals, a discount as a fraction, no currency. */
export const camelCase = [
  'CREATE SCHEMA "Sales"',
  'CREATE SCHEMA "Purchasing"',
  `CREATE TABLE "Sales"."Customer" ("CustomerID" INT PRIMARY KEY, "AccountNumber" VARCHAR(20) NOT NULL UNIQUE, "CustomerName" VARCHAR(100),
    "EmailAddress" VARCHAR(100), "City" VARCHAR(50), "ModifiedDate" TIMESTAMP)`,
  'CREATE TABLE "Sales"."Product" ("ProductID" INT PRIMARY KEY, "ProductNumber" VARCHAR(25), "ListPrice" NUMERIC(19,4))',
  `CREATE TABLE "Sales"."SalesOrderHeader" ("SalesOrderID" INT PRIMARY KEY, "SalesOrderNumber" VARCHAR(25), "CustomerID" INT NOT NULL
    REFERENCES "Sales"."Customer", "Status" SMALLINT NOT NULL, "OrderDate" TIMESTAMP NOT NULL, "SubTotal" NUMERIC(19,4),
    "TaxAmt" NUMERIC(19,4), "TotalDue" NUMERIC(19,4), "ModifiedDate" TIMESTAMP)`,
  `CREATE TABLE "Sales"."SalesOrderDetail" ("SalesOrderDetailID" SERIAL PRIMARY KEY, "SalesOrderID" INT NOT NULL
    REFERENCES "Sales"."SalesOrderHeader", "ProductID" INT REFERENCES "Sales"."Product", "OrderQty" SMALLINT, "UnitPrice" NUMERIC(19,4),
    "UnitPriceDiscount" NUMERIC(9,4), "LineTotal" NUMERIC(19,4))`,
  `CREATE TABLE "Purchasing"."PurchaseOrderHeader" ("PurchaseOrderID" INT PRIMARY KEY, "VendorID" INT, "OrderDate" TIMESTAMP, "Status" INT,
    "SubTotal" NUMERIC(19,4))`,
  `CREATE TABLE "Purchasing"."PurchaseOrderDetail" ("PurchaseOrderDetailID" INT PRIMARY KEY, "PurchaseOrderID" INT
    REFERENCES "Purchasing"."PurchaseOrderHeader", "OrderQty" INT, "UnitPrice" NUMERIC(19,4))`,
  `INSERT INTO "Sales"."Customer" VALUES (1, 'AW0001', 'Bike World', 'bike@example.test', 'Bothell', '2026-01-01'),
    (2, 'AW0002', 'Metro Sports', NULL, 'Dallas', '2026-01-01')`,
  `INSERT INTO "Sales"."Product" VALUES (1, 'BK-R93R', 1000), (2, 'HL-U509', 19.99)`,
  `INSERT INTO "Sales"."SalesOrderHeader" SELECT n, 'SO' || 43000 + n, 1 + n % 2, CASE WHEN n % 5 = 0 THEN 6 ELSE 5 END,
    '2026-03-01', 0, 0, 0, '2026-03-02' FROM generate_series(1, 15) n`,
  `INSERT INTO "Sales"."SalesOrderDetail" ("SalesOrderID", "ProductID", "OrderQty", "UnitPrice", "UnitPriceDiscount")
    SELECT "SalesOrderID", 1, 2, 1000, CASE WHEN "SalesOrderID" % 3 = 0 THEN 0.05 ELSE 0 END FROM "Sales"."SalesOrderHeader"
    UNION ALL SELECT "SalesOrderID", 2, 3, 19.99, 0 FROM "Sales"."SalesOrderHeader"`,
  `UPDATE "Sales"."SalesOrderDetail" SET "LineTotal" = "OrderQty" * "UnitPrice" * (1 - "UnitPriceDiscount")`,
  `UPDATE "Sales"."SalesOrderHeader" h SET "SubTotal" = (SELECT SUM("LineTotal") FROM "Sales"."SalesOrderDetail" d
    WHERE d."SalesOrderID" = h."SalesOrderID")`,
  `UPDATE "Sales"."SalesOrderHeader" SET "TaxAmt" = ROUND("SubTotal" * 0.08, 2), "TotalDue" = "SubTotal" + ROUND("SubTotal" * 0.08, 2)`,
  `INSERT INTO "Purchasing"."PurchaseOrderHeader" VALUES (1, 1, '2026-01-01', 1, 10)`,
  `INSERT INTO "Purchasing"."PurchaseOrderDetail" VALUES (1, 1, 1, 10)`,
];

/** Terse names in SQLite, no declared key, dates as numbers. */
export const terse = [
  'CREATE TABLE KDST (KDNR INTEGER, NAME1 TEXT, STR TEXT, PLZ TEXT, ORT TEXT)',
  'CREATE UNIQUE INDEX KDST1 ON KDST (KDNR)',
  'CREATE TABLE AUFK (AUFNR INTEGER, KDNR INTEGER, DAT INTEGER, STAT TEXT, WHG TEXT, NETTO NUMERIC)',
  'CREATE UNIQUE INDEX AUFK1 ON AUFK (AUFNR)',
  'CREATE TABLE AUFP (AUFNR INTEGER, POS INTEGER, ARTNR TEXT, BEZ TEXT, MENGE NUMERIC, EPREIS NUMERIC)',
  'CREATE UNIQUE INDEX AUFP1 ON AUFP (AUFNR, POS)',
  'CREATE TABLE LIEF (LIEFNR INTEGER, NAME1 TEXT)',
  'CREATE TABLE PARAM (K TEXT, V TEXT)',
  "INSERT INTO KDST VALUES (10001, 'ANGRY BIRDS GMBH', 'WEG 1', '01067', 'DRESDEN'), (10002, 'OMA ERNA', NULL, NULL, NULL)",
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12)
    INSERT INTO AUFK SELECT 500 + i, 10001 + i % 2, 20260100 + i, CASE WHEN i % 4 = 0 THEN 'X' ELSE 'F' END, 'EUR', i * 1.1 + 2 * 19.99 FROM n`,
  "INSERT INTO AUFP SELECT AUFNR, 1, 'S-1', 'SCHRAUBE', AUFNR - 500, 1.10 FROM AUFK",
  "INSERT INTO AUFP SELECT AUFNR, 2, 'K-2', 'KLEINTEIL', 2, 19.99 FROM AUFK",
  'UPDATE AUFK SET NETTO = ROUND(NETTO, 2)',
  "INSERT INTO LIEF VALUES (1, 'STAHL AG')",
];

/** A person's answers about the terse tables, but for states and dates. */
export const terseChoices = flagsFor(
  answersFor({
    ...{ orders: 'AUFK', lines: 'AUFP', customers: 'KDST' },
    columns: {
      ...{ 'order.number': 'AUFNR', 'order.created': 'DAT', 'order.status': 'STAT', 'order.customer': 'KDNR' },
      ...{ 'customer.code': 'KDNR', 'customer.name': 'NAME1', 'line.order': 'AUFNR', 'line.sku': 'ARTNR' },
      ...{ 'line.qty': 'MENGE', 'line.price': 'EPREIS', 'order.total': 'NETTO', 'order.currency': 'WHG' },
    },
    flags: { status: '', 'time-zone': '', 'start-from': '', 'lines-with': 'none', cancelled: 'X' },
  }),
);
