import type { DelayMs, SandboxOptions } from './options.js';

/** One request's artificial delays, in ms. */
export function drawDelays(options: SandboxOptions): { beforeMs: number; afterMs: number } {
  const { random } = options;
  const totalMs = draw(options.delayMs, random);
  const shareBefore = totalMs === 0 ? 0 : random();
  return {
    beforeMs: draw(options.delayBeforeMs, random) + totalMs * shareBefore,
    afterMs: draw(options.delayAfterMs, random) + totalMs * (1 - shareBefore),
  };
}

function draw(delay: DelayMs, random: () => number): number {
  if (typeof delay === 'number') return delay;
  const [minMs, maxMs] = delay;
  return minMs + random() * (maxMs - minMs);
}
