import type { Invoice } from '../../model/record.js';

/** An invoice with its place in the service's order of listing. */
interface ListedInvoice extends Invoice {
  place: number;
}

/** Invoices in order of their place. Pages and changes stay cheap with 100,000 of them. */
class InvoiceList {
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

/** Which invoices to list; what is absent matches all. */
type InvoiceFilter = { status?: string | undefined; customer_code?: string | undefined };

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
  add(invoice: Omit<Invoice, 'invoice_no'> & { invoice_no?: string }, orderId?: string): Invoice {
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
    return this.#change(this.#require(invoiceNo), { status });
  }

  /** Gives it another place in the order of listing: `part` of the way from the first to the last. */
  move(invoiceNo: string, part: number): void {
    this.#change(this.#require(invoiceNo), { place: part * this.#nextPlace });
  }

  remove(invoiceNo: string): void {
    const invoice = this.#require(invoiceNo);
    for (const list of this.#listsOf(invoice)) list.remove(invoice);
    this.#byNumber.delete(invoiceNo);
  }

  /** The invoice follows its order while it is unpaid; a paid one is history. */
  orderChanged(orderId: string, customerCode: string, amount: number): void {
    const invoice = this.#unpaidOf(orderId);
    if (invoice) this.#change(invoice, { customer_code: customerCode, amount });
  }

  orderDeleted(orderId: string): void {
    const invoice = this.#unpaidOf(orderId);
    if (invoice) this.remove(invoice.invoice_no);
    this.#numberByOrder.delete(orderId);
  }

  page(filter: InvoiceFilter, offset: number, limit: number): { data: Invoice[]; total: number } {
    const list = this.#lists.get(listName(filter));
    return { data: list?.page(offset, limit) ?? [], total: list?.total ?? 0 };
  }

  #require(invoiceNo: string): ListedInvoice {
    const invoice = this.#byNumber.get(invoiceNo);
    if (!invoice) throw new Error(`There is no invoice ${invoiceNo}`);
    return invoice;
  }

  #unpaidOf(orderId: string): ListedInvoice | undefined {
    const invoice = this.#byNumber.get(this.#numberByOrder.get(orderId) ?? '');
    return invoice?.status === 'unpaid' ? invoice : undefined;
  }

  #change(invoice: ListedInvoice, changes: Partial<ListedInvoice>): Invoice {
    for (const list of this.#listsOf(invoice)) list.remove(invoice);
    Object.assign(invoice, changes);
    for (const list of this.#listsOf(invoice)) list.insert(invoice);
    return invoice;
  }

  #listsOf({ status, customer_code }: Invoice): InvoiceList[] {
    const filters: InvoiceFilter[] = [{}, { status }];
    if (customer_code !== undefined) filters.push({ customer_code }, { status, customer_code });
    return filters.map((filter) => {
      const name = listName(filter);
      const list = this.#lists.get(name) ?? new InvoiceList();
      this.#lists.set(name, list);
      return list;
    });
  }
}

function listName({ status, customer_code }: InvoiceFilter): string {
  return JSON.stringify([status, customer_code]);
}
