/** Facts out of a map from each code to its data: `{ too_long: { field: string } }` gives `{ code: 'too_long', field: string }`. */
export type FactOf<Codes> = {
  [Code in keyof Codes & string]: { readonly code: Code } & Readonly<Codes[Code]>;
}[keyof Codes & string];

/** Data of a code that says everything by itself. */
export type NoData = Record<never, never>;

/** A fact that is part of another one, such as the failure behind an alert: any code with its data. */
export interface PartFact {
  readonly code: string;
}
