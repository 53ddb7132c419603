import type { Fault } from './fault.js';

/** What a fault can be matched against. */
export interface FaultTarget {
  method: string;
  /** With its query. */
  path: string;
  key: string | null;
  body: () => string;
}

interface Planned {
  readonly fault: Fault;
  readonly matches: (target: FaultTarget) => boolean;
  seen: number;
  fired: number;
}

/** Decides which fault, if any, a request meets. */
export class FaultPlan {
  #planned: Planned[] = [];
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  set(faults: readonly Fault[]): void {
    this.#planned = faults.map((fault) => ({ fault, matches: matcher(fault.match), seen: 0, fired: 0 }));
  }

  add(faults: readonly Fault[]): void {
    const before = this.#planned;
    this.set(faults);
    this.#planned = [...before, ...this.#planned];
  }

  list(): { fault: Fault; seen: number; fired: number }[] {
    return this.#planned.map(({ fault, seen, fired }) => ({ fault, seen, fired }));
  }

  /** The first fault of the list that fires. Every matching one counts the request, so that `nth` doesn't depend on its neighbours. */
  draw(target: FaultTarget): Fault | null {
    let drawn: Planned | null = null;
    for (const planned of this.#planned) {
      if (!planned.matches(target)) continue;
      planned.seen++;
      if (!drawn && this.#fires(planned)) drawn = planned;
    }
    if (!drawn) return null;
    drawn.fired++;
    return drawn.fault;
  }

  #fires({ fault, seen, fired }: Planned): boolean {
    if (fault.times !== undefined && fired >= fault.times) return false;
    const { nth } = fault.match;
    if (nth !== undefined && !(Array.isArray(nth) ? nth.includes(seen) : nth === seen)) return false;
    return fault.probability === undefined || this.#random() < fault.probability;
  }
}

function matcher(match: Fault['match']): (target: FaultTarget) => boolean {
  const method = match.method?.toUpperCase();
  const path = pathMatcher(match.path);
  const { key, bodyIncludes } = match;
  return (target) =>
    (method === undefined || target.method === method) &&
    path(target.path) &&
    (key === undefined || target.key === key) &&
    (bodyIncludes === undefined || target.body().includes(bodyIncludes));
}

function pathMatcher(path: Fault['match']['path']): (path: string) => boolean {
  if (path === undefined) return () => true;
  if (typeof path === 'string') return (asked) => asked.startsWith(path);
  const regex =
    path instanceof RegExp ? new RegExp(path.source, path.flags.replace(/[gy]/g, '')) : new RegExp(path.regex);
  return (asked) => regex.test(asked);
}
