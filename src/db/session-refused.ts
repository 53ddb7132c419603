/** A session at the database that does not have what Waybill set. Nothing may be read or written through it. */
export class SessionRefused extends Error {
  /** For the tables of failures, beside the codes of the drivers. */
  readonly code = 'WAYBILL_SESSION';

  constructor(name: string, found: string, wanted: string) {
    super(
      `the session has ${name} "${found}", although Waybill set "${wanted}". Something between changes or shares ` +
        'sessions: connect to the database server itself, or let the proxy keep one session for each connection',
    );
    this.name = 'SessionRefused';
  }
}
