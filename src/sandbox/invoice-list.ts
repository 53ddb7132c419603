import type { Invoice } from '../model/invoice.js';

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
