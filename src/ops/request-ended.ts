import { channel } from 'node:diagnostics_channel';

/** A request to the service that came to its end in this process. */
export interface RequestEnded {
  /** `create`, `look_up`, `list_invoices` and so on, as with its attempt. */
  purpose: string;
  verdict: string;
  durationMs: number | null;
}

/** Each request to the service is published here as it ends; the metrics of the desk subscribe. */
export const requestEnded = channel('waybill:request-ended');
