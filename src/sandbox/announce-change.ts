import type { SandboxState } from './state.js';

/** Tells whoever asked for webhooks that something happened; what it is now, they have to read. */
export function announceChange({ options, webhooks }: SandboxState, type: string, data: Record<string, string>): void {
  if (options.webhooks) webhooks.announce(options.webhooks, type, data, options.nowMs());
}
