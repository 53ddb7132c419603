import type { Fault } from './fault.js';

/** Whether the request that meets this fault takes its effect. */
export function effectOf(fault: Fault): 'none' | 'done' {
  if ('effect' in fault) return fault.effect;
  return fault.kind === 'reset-before' || fault.kind === 'redirect' ? 'none' : 'done';
}
