/** The two kinds of record that Waybill carries to the service. */
export type Entity = 'customer' | 'order';
