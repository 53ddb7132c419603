import { channel } from 'node:diagnostics_channel';

/** A request to the service that came to its end in this process. */
export interface RequestEnded {
  /** `create`, `look_up`, `list_invoices` and so on, as with its attempt. */
  purpose: string;
  verdict: string;
  durationMs: number | null;
}

/** Where each of them is told of, for whoever measures. */
export const requestEnded = channel('waybill:request-ended');
