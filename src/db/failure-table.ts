/** What a failure means, what the reader of the message can do about it, and the codes (or numbers) that it has. */
export type FailureRow<Kind> = readonly [kind: Kind, advice: string, ...codes: string[]];

export const AGAIN_LATER = 'It is tried again later.';
export const PRINTED = '`waybill erp side-tables` prints what is needed.';
export const NO_TLS = 'Switch TLS on at the server, or set';
export const IN_THE_CLEAR = 'where everything may be read on the way.';
export const COMPARE = 'Compare the certificate of the server with';

export function byCode<Kind>(rows: readonly FailureRow<Kind>[]) {
  return new Map(rows.flatMap(([kind, advice, ...codes]) => codes.map((code) => [code, [kind, advice] as const])));
}
