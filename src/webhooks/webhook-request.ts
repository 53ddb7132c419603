/** A request as it came: header names in small letters, the body before anything was made of it. */
export interface WebhookRequest {
  method: string;
  url: string;
  headers: { readonly [name: string]: string | string[] | undefined };
  body: Buffer;
}

/** One header's text; one that came twice is none. */
export function headerOf({ headers }: Pick<WebhookRequest, 'headers'>, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === 'string' ? value : undefined;
}
