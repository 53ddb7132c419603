import type { IncomingHttpHeaders } from 'node:http';

/** The desk's address: the path of its pages, and the hosts by which it may be asked for. */
export interface Address {
  /** `/` or such as `/waybill/`; begins and ends with a slash. */
  base: string;
  /** Such as `http://127.0.0.1:8788` and `https://erp.example.com`. */
  origins: readonly string[];
}

/** @param port the one that the desk listens on */
export function addressOf(publicUrl: string | undefined, port: number): Address {
  const local = ['127.0.0.1', 'localhost', '[::1]'].map((host) => `http://${host}:${port}`);
  if (publicUrl === undefined) return { base: '/', origins: local };
  const { origin } = new URL(publicUrl);
  return { base: basePath(publicUrl), origins: [...local, origin] };
}

export function basePath(publicUrl: string | undefined): string {
  return publicUrl === undefined ? '/' : `${new URL(publicUrl).pathname.replace(/\/+$/, '')}/`;
}

interface Asked {
  method: string;
  headers: IncomingHttpHeaders;
}

/** The origin by which the desk was asked for, or null: a name that is not ours, as after DNS rebinding. Pure. */
export function originAsked({ origins }: Address, { headers }: Asked): string | null {
  const host = headers.host?.toLowerCase();
  return origins.find((origin) => new URL(origin).host === host) ?? null;
}

/**
 * Why a browser's request is refused by where it comes from, or null. A change comes from a page of ours. Another site may link to
 * a page of ours, and neither embed nor fetch it. Pure.
 */
export function foreignProblem(asked: Asked, ownOrigin: string): string | null {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest, origin } = asked.headers;
  if (isChange(asked.method)) {
    if (site !== undefined && site !== 'same-origin') return 'The request came from another site.';
    return origin === ownOrigin ? null : 'The request does not say that it came from a page of this desk.';
  }
  const isOwn = site === undefined || site === 'same-origin' || site === 'none';
  const isLink = mode === 'navigate' && dest === 'document';
  return isOwn || isLink ? null : 'Another site may link to this page, but not embed or read it.';
}

export function isChange(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

/** The page to show after signing in: always one of the desk, even if the address bar names something else. Pure. */
export function ownPath(base: string, wanted: string | null): string {
  if (wanted === null || !wanted.startsWith(base) || /[^\x21-\x7e]|\\|^\/\//.test(wanted)) return base;
  const { host, pathname } = new URL(wanted, 'http://desk.invalid');
  return host === 'desk.invalid' && pathname.startsWith(base) ? wanted : base;
}
