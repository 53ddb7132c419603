/** An invoice as the service lists it. `amount` is in the service's unit of money, an integer. */
export interface Invoice {
  invoice_no: string;
  customer_code?: string;
  amount: number;
  /** YYYY-MM-DD */
  due_date: string;
  status: string;
}
