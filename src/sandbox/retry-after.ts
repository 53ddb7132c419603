import type { RetryAfterForm } from './options.js';

/** The value of `Retry-After` for a wait of `waitMs`, or null for no header. Both true forms are rounded up to whole seconds (RFC 9110, 10.2.3). */
export function retryAfter(form: RetryAfterForm, waitMs: number, nowMs: number): string | null {
  switch (form) {
    case 'seconds':
      return String(Math.ceil(waitMs / 1000));
    case 'http-date':
      return new Date(Math.ceil((nowMs + waitMs) / 1000) * 1000).toUTCString();
    case 'past':
      return new Date(nowMs - 60 * 60 * 1000).toUTCString();
    case 'junk':
      return 'in a little while';
    case 'absurd':
      return String(100 * 365 * 24 * 60 * 60);
    case 'absent':
      return null;
  }
}
