import type { Invoice } from '../../model/record.js';

/** An invoice with its place in the service's order of listing. */
interface ListedInvoice extends Invoice {
  place: number;
}

/** Which invoices to list; what is absent matches all. */
type InvoiceFilter = { status?: string | undefined; customer_code?: string | undefined };

/** All invoices, and which order each of them bills. */
export class InvoiceBook {
  readonly #byNumber = new Map<string, ListedInvoice>();
  readonly #numberByOrder = new Map<string, string>();
  /** Lists by their filter, kept until an invoice changes: a pull reads thousands of pages of the same list. */
  readonly #lists = new Map<string, ListedInvoice[]>();
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
    this.#lists.clear();
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
    this.#require(invoiceNo);
    this.#byNumber.delete(invoiceNo);
    this.#lists.clear();
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
    const list = this.#list(filter);
    return { data: list.slice(offset, offset + limit), total: list.length };
  }

  #list({ status, customer_code }: InvoiceFilter): ListedInvoice[] {
    const name = JSON.stringify([status, customer_code]);
    const known = this.#lists.get(name);
    if (known) return known;
    const list = [...this.#byNumber.values()]
      .filter((one) => status === undefined || one.status === status)
      .filter((one) => customer_code === undefined || one.customer_code === customer_code)
      .sort((a, b) => a.place - b.place);
    this.#lists.set(name, list);
    return list;
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
    this.#lists.clear();
    return Object.assign(invoice, changes);
  }
}
