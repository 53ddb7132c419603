/** Settings of which any part may be missing, because it was refused on its own. */
export type Partly<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof T]?: Partly<T[K]> | undefined }
    : T;

/** What is wrong between settings that are right one by one. */
export interface Disagreement {
  found?: string;
  allowed?: string;
  hint?: string;
}

/** Takes the path of the setting (`orders.lines.fields.sku`, `service.limits.0`) and what is wrong with it. */
export type Report = (path: string, message: string, more?: Disagreement) => void;

/** Reports a setting that is required only because of another one. */
export function requireSetting(value: unknown, path: string, allowed: string, report: Report): void {
  if (value === undefined) report(path, 'required, but not set', { allowed });
}
