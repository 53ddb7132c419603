/**
 * The names of tables and columns where none is agreed on: pieces of English, German, French, Spanish and Italian
 * names, and the usual short forms. Names are compared in small letters, without accents and separators.
 */

/** `Auftrags-Nr` and `AUFTRAGS_NR` → `auftragsnr`. */
export function fold(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/ß/g, 'ss')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
}

export type TableRole = 'orders' | 'lines' | 'customers';

/** Words that tables of a role are called by: those are offered first. */
export const tableWords: Record<TableRole, RegExp> = {
  orders: /order|auftr|auftrag|bestellung|commande|pedido|ordine|verkauf|vbak|^auf/,
  lines: /line|item|detail|det$|pos(ition)?(en|s)?$|row|ligne|zeile|linea|riga|aufp|vbap/,
  customers: /custom|client|kund|debit|debtor|klient|kdst|^kd|partner|account|societe|party|adress|buyer|user|entity/,
};

export type ColumnRole = keyof typeof columnWords;

/** From the plainest name to the vaguest. */
export const columnWords = {
  /** The key that the orders hold. Only a person, or a declared key, says it. */
  'customer.key': [],
  'customer.code': [
    /^(customer|cust|kunden?|client|kd|deb(itor|tor)?|account)(no|nr|num|number|nummer|code|ref)$/,
    /^(code|nummer|number|no|nr|ref)$/,
  ],
  'customer.name': [
    /^(name|name1|firma|company|companyname|customername|kundenname|nom|firmenname|nombre|ragionesociale)$/,
    /^(kd|kunden|cust|customer|client)(name|bez)1?$/,
  ],
  'customer.email': [/^(user|customer|contact)?(e?mail|emailaddress|mailadresse)$/],
  'customer.phone': [/^(phone|tel|telefon|telephone|phoneno|phonenumber)$/],
  'customer.street': [/^(street|strasse|str|address|address1|addressline1|street1|adresse|rue|calle)$/],
  'customer.postcode': [/^(postcode|plz|zip|zipcode|postalcode|codepostal|cp)$/],
  'customer.city': [/^(city|ort|town|stadt|ville|ciudad|wohnort)$/],
  'customer.country': [/^(country|countrycode|land|lkz|landkz|pays|pais|countryiso)$/],
  'customer.changedAt': [
    /(updated|modified|changed|geaendert|geandert|aenderung|lastupd|lastmod|writedate|^tms$|stamp)/,
  ],
  /** The key of the buyer, and of no other party. */
  'order.customer': [
    /^(fk)?(customer|cust|kunden?|client|kd|debitor|debtor|deb|account|acct|buyer|klient|kaeufer|kaufer|besteller|auftraggeber|cliente|soldto)(id|no|nr|num|number|nummer|code|key|ref|uuid)?$/,
  ],
  'order.number': [
    /^(order|sales?order|auftrags?|bel(eg)?|bestell|auf|doc(ument)?)(no|nr|num|number|nummer|ref|code)$/,
    /^(number|nummer|no|nr|ref|reference|docno|name)$/,
  ],
  'order.changedAt': [
    /(updated|modified|changed|geaendert|geandert|aenderung|lastupd|lastmod|writedate|^tms$|stamp|^aend)/,
  ],
  'order.created': [
    /(created|creation|angelegt|erfasst|erstellt|inserted|entered|anlage|createdate)/,
    /^(order|auftrags?|bel(eg)?|bestell|doc|auf)?(date|datum|dat|on|tag)$/,
    /(orderdate|auftragsdatum|belegdatum|datum|date)/,
  ],
  'order.status': [
    /^(order|auftrags?)?(status|state|zustand|etat|estado|stato)$/,
    /(status|statut|state|^stat|zustand|estado)/,
  ],
  'order.currency': [/(curr|^ccy|ccy$|waehr|wahr|devise|moneda|valuta|^wkz$|^whg$)/],
  'order.total': [
    /(nettotal|totalnet|netto|totalht|untaxed|netamount|nettobetrag)/,
    /(total|sum|betrag|amount|montant|brutto|gesamt|wert|importe)/,
  ],
  'line.order': [
    /^(fk)?(sales?|customer|kunden?)?(order|auftrags?|bestell(ung)?|beleg|commande|pedido|ordine|doc(ument)?)(header|head|kopf)?(id|no|nr|num|number|nummer|code|key|ref|uuid)?$/,
  ],
  'line.qty': [
    /^(qty|quantity|menge|anzahl|quant|stueck|stuck|cantidad|quantite|mng)$/,
    /(qty|quant|menge|anzahl|ordered)/,
  ],
  'line.price': [
    /^(unit|net|einzel|e|vk)?(price|preis|prix|precio|prezzo|rate)(net|netto|ht)?$/,
    /(price|preis|prix|precio|prezzo|rate$|^ep$|^epr)/,
  ],
  'line.amount': [/(amount|subtotal|linetotal|total|betrag|gesamt|summe|montant|importe|wert|gpreis)/],
  'line.discount': [/(disc|rabatt|remise|descuento|sconto|nachlass|^rab)/],
  'line.sku': [
    /^(sku|artikelnr|artikelnummer|artnr|itemcode|itemno|productcode|productno|matnr|partno|articleno|stkcode|defaultcode|reference)$/,
    /(sku|artikeln|artnr|itemcode|itemno|articleno|productcode|productnumber|partno)/,
    /^(code|nummer|number|no|nr|ref|artikel|article|item|product)$/,
  ],
  'line.position': [
    /^(pos|position|posnr|line|lineno|linenr|linenumber|seq|sequence|sort|sortorder|idx|rang|zeile|lfdnr)$/,
    /(pos|line(no|nr)|seq|sort)/,
  ],
} as const satisfies Record<string, readonly RegExp[]>;

/** Properties that many orders share: their kind, company, client or year. */
const SHARED =
  /(type|typ|(?<!p)art|kind|kz|company|firma|fa|mandant|mandt|client|tenant|entity|branch|filiale|year|jahr|gj)(id|no|nr|num|code)?$/;

/** The part of a key that numbers the rows, which stands last as a rule; undefined: each part looks like one that many rows share. */
export function numberingPart(key: readonly string[]): string | undefined {
  return key.length === 1 ? key[0] : key.findLast((name) => !SHARED.test(fold(name)));
}

export const columnRoles = Object.keys(columnWords) as ColumnRole[];

/** Columns that say which company of several an order belongs to. */
export const saysCompany = (name: string) =>
  /^(ad)?(company|mandant|mandt|client|tenant|organi[sz]ation|org|business|shop|store)(id|no|nr|code)?$/.test(
    fold(name),
  );

export const saysCurrency = (name: string) => columnWords['order.currency'].some((word) => word.test(fold(name)));
