/**
 * What tables and columns are called where it is not agreed on: pieces of English, German, French, Spanish and Italian
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

/** Words that speak for a role, and words that speak against it. */
export const tableWords: Record<TableRole, { yes: RegExp; no: RegExp }> = {
  orders: {
    yes: /order|auftr|auftrag|bestellung|commande|pedido|ordine|verkauf|vbak|^auf/,
    no: /purch|einkauf|suppl|liefer|vendor|fourn|invoice|rechn|fact|quot|angebot|offer|hist|log|arch|backup|bak$|tmp|temp|return|retour|cart|paym|zahl|status|type|work|prod|pick|lines?$|items?$|details?$|pos(ition)?(en|s)?$|zeilen?$|attribute|address|note/,
  },
  lines: {
    yes: /line|item|detail|det$|pos(ition)?(en|s)?$|row|ligne|zeile|linea|riga|aufp|vbap/,
    no: /purch|einkauf|suppl|vendor|fourn|invoice|rechn|fact|quot|angebot|offer|hist|log|arch|backup|bak$|tmp|temp|return|retour|cart|tax|steuer|stock|lager/,
  },
  customers: {
    yes: /custom|client|kund|debit|debtor|klient|kdst|^kd|partner|account|societe|party|adress|buyer/,
    no: /suppl|liefer|vendor|fourn|group|grupp|type|typ$|hist|log|arch|backup|bak$|tmp|temp|price|preis|note|order|auftr|branch|user|paym/,
  },
};

export type ColumnRole = keyof typeof columnWords;

/** From the plainest name to the vaguest. */
export const columnWords = {
  'customer.code': [
    /^(customer|cust|kunden?|client|kd|deb(itor|tor)?|account)(no|nr|num|number|nummer|code|ref)$/,
    /^(code|nummer|number|no|nr|ref)$/,
    /(kundennr|customerno|code|matchcode)/,
  ],
  'customer.name': [
    /^(name|name1|firma|company|companyname|customername|kundenname|nom|firmenname|nombre|ragionesociale)$/,
    /^(kd|kunden|cust|customer|client)(name|bez)1?$/,
    /(bezeichnung|firma|name)/,
  ],
  'customer.email': [/^(e?mail|emailaddress|mailadresse)$/, /e?mail/],
  'customer.phone': [/^(phone|tel|telefon|telephone|phoneno)$/, /(phone|telef)/],
  'customer.street': [/^(street|strasse|str|address|address1|adresse|rue|calle)$/, /(street|strasse|address)/],
  'customer.postcode': [/^(postcode|plz|zip|zipcode|postalcode|codepostal|cp)$/, /(postcode|plz|zip|postal)/],
  'customer.city': [/^(city|ort|town|stadt|ville|ciudad|wohnort)$/, /(city|town|ort$)/],
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
  'order.company': [/^(company|mandant|entity|tenant|organi[sz]ation|org|business)(id|no|nr|code)?$/],
  'order.total': [
    /(nettotal|totalnet|netto|totalht|untaxed|netamount|nettobetrag)/,
    /(total|sum|betrag|amount|montant|brutto|gesamt|wert|importe)/,
  ],
  /** What tells orders apart beside their status: removed ones, and other documents in the same table. */
  'order.mark': [
    /(deleted|deletion|loe?sch|^loekz|storn|cancell?ed|voided|archived|removed|trash|annul|inaktiv|inactive|isactive|^aktiv$|^active$)/,
    /^(is)?(del|delete|hidden|valid|void)(flag|kz|mark|ind)?$|^(in|is|not)valid$|^(un)?gue?ltig(kz)?$/,
    /^(doc|document|bel|beleg|order|trans|transaction|auftrags?|sales?)?(type|art|typ|kind)(id|code|nr)?$/,
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

/** What many orders share: their kind, company, client or year. */
const SHARED =
  /(type|typ|(?<!p)art|kind|kz|company|firma|fa|mandant|mandt|client|tenant|entity|branch|filiale|year|jahr|gj)(id|no|nr|num|code)?$/;

/** The part of a key that numbers the rows, which stands last as a rule; undefined: each part looks like one that many rows share. */
export function numberingPart(key: readonly string[]): string | undefined {
  return key.length === 1 ? key[0] : key.findLast((name) => !SHARED.test(fold(name)));
}

export const columnRoles = Object.keys(columnWords) as ColumnRole[];

export const saysCurrency = (name: string) => columnWords['order.currency'].some((word) => word.test(fold(name)));
