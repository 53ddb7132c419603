import type { Invoice } from '../../model/record.js';

/** An invoice with its place in the service's order of listing. */
export interface ListedInvoice extends Invoice {
  place: number;
}

/** Invoices in order of their place. Pages and changes stay cheap with 100,000 of them. */
export class InvoiceList {
  readonly #invoices: ListedInvoice[] = [];

  get total(): number {
    return this.#invoices.length;
  }

  page(offset: number, limit: number): ListedInvoice[] {
    return this.#invoices.slice(offset, offset + limit);
  }

  insert(invoice: ListedInvoice): void {
    const last = this.#invoices.at(-1);
    if (!last || last.place < invoice.place) this.#invoices.push(invoice);
    else this.#invoices.splice(this.#find(invoice.place), 0, invoice);
  }

  remove(invoice: ListedInvoice): void {
    const at = this.#find(invoice.place);
    if (this.#invoices[at] === invoice) this.#invoices.splice(at, 1);
  }

  /** The first index whose place is not below the one asked for. */
  #find(place: number): number {
    let low = 0;
    let high = this.#invoices.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#invoices[middle]?.place ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export interface InvoiceFilter {
  status?: string | undefined;
  customerCode?: string | undefined;
}

/** All invoices, with one list for each combination of filters, so that no page is found by scanning. */
export class InvoiceBook {
  readonly #byNumber = new Map<string, ListedInvoice>();
  readonly #numberByOrder = new Map<string, string>();
  readonly #lists = new Map<string, InvoiceList>();
  #nextPlace = 1;

  get total(): number {
    return this.#byNumber.size;
  }

  get(invoiceNo: string): Invoice | undefined {
    return this.#byNumber.get(invoiceNo);
  }

  /** Adds an invoice; without a number it gets the next one. `orderId` ties it to the order that it bills. */
  add(invoice: Omit<Invoice, 'invoice_no'> & { invoice_no?: string | undefined }, orderId?: string): Invoice {
    const place = this.#nextPlace++;
    const invoiceNo = invoice.invoice_no ?? `INV-${String(place).padStart(6, '0')}`;
    if (this.#byNumber.has(invoiceNo)) throw new Error(`There is an invoice ${invoiceNo} already`);
    const listed: ListedInvoice = { ...invoice, invoice_no: invoiceNo, place };
    this.#byNumber.set(invoiceNo, listed);
    if (orderId !== undefined) this.#numberByOrder.set(orderId, invoiceNo);
    for (const list of this.#listsOf(listed)) list.insert(listed);
    return listed;
  }

  setStatus(invoiceNo: string, status: string): Invoice {
    const invoice = this.#byNumber.get(invoiceNo);
    if (!invoice) throw new Error(`There is no invoice ${invoiceNo}`);
    for (const list of this.#listsOf(invoice)) list.remove(invoice);
    invoice.status = status;
    for (const list of this.#listsOf(invoice)) list.insert(invoice);
    return invoice;
  }

  /** Gives it another place in the order of listing: `part` of the way from the first to the last. */
  move(invoiceNo: string, part: number): void {
    const invoice = this.#byNumber.get(invoiceNo);
    if (!invoice) throw new Error(`There is no invoice ${invoiceNo}`);
    for (const list of this.#listsOf(invoice)) list.remove(invoice);
    invoice.place = part * this.#nextPlace;
    for (const list of this.#listsOf(invoice)) list.insert(invoice);
  }

  remove(invoiceNo: string): void {
    const invoice = this.#byNumber.get(invoiceNo);
    if (!invoice) throw new Error(`There is no invoice ${invoiceNo}`);
    for (const list of this.#listsOf(invoice)) list.remove(invoice);
    this.#byNumber.delete(invoiceNo);
  }

  /** The invoice follows its order while it is unpaid; a paid one is history. */
  orderChanged(orderId: string, customerCode: string, amount: number): void {
    const invoice = this.#unpaidOf(orderId);
    if (!invoice) return;
    for (const list of this.#listsOf(invoice)) list.remove(invoice);
    invoice.customer_code = customerCode;
    invoice.amount = amount;
    for (const list of this.#listsOf(invoice)) list.insert(invoice);
  }

  orderDeleted(orderId: string): void {
    const invoice = this.#unpaidOf(orderId);
    if (invoice) this.remove(invoice.invoice_no);
    this.#numberByOrder.delete(orderId);
  }

  page(filter: InvoiceFilter, offset: number, limit: number): { data: Invoice[]; total: number } {
    const list = this.#lists.get(listName(filter.status, filter.customerCode));
    return { data: list?.page(offset, limit) ?? [], total: list?.total ?? 0 };
  }

  #unpaidOf(orderId: string): ListedInvoice | undefined {
    const invoice = this.#byNumber.get(this.#numberByOrder.get(orderId) ?? '');
    return invoice?.status === 'unpaid' ? invoice : undefined;
  }

  #listsOf(invoice: Invoice): InvoiceList[] {
    const names = [listName(undefined, undefined), listName(invoice.status, undefined)];
    if (invoice.customer_code !== undefined) {
      names.push(listName(undefined, invoice.customer_code), listName(invoice.status, invoice.customer_code));
    }
    return names.map((name) => {
      let list = this.#lists.get(name);
      if (!list) {
        list = new InvoiceList();
        this.#lists.set(name, list);
      }
      return list;
    });
  }
}

function listName(status: string | undefined, customerCode: string | undefined): string {
  return JSON.stringify([status ?? null, customerCode ?? null]);
}
