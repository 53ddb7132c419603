import { z } from 'zod';

const regex = z.union([
  z.strictObject({ regex: z.string() }).transform(({ regex }) => new RegExp(regex)),
  // The flags g and y would make a regular expression remember its last match.
  z.instanceof(RegExp).transform(({ source, flags }) => new RegExp(source, flags.replace(/[gy]/g, ''))),
]);

/**
 * Which requests a fault may hit: those that meet all given conditions. Throttled, unauthorised and admin requests are
 * never matched.
 */
const match = z.strictObject({
  method: z.string().toUpperCase().optional(),
  /** The beginning of the path with its query, or a regular expression (over HTTP: `{"regex":"…"}`). */
  path: z.union([z.string(), regex]).optional(),
  /** The idempotency key, unquoted. */
  key: z.string().optional(),
  /** A piece of the body's text, e.g. the reference of one record. */
  bodyIncludes: z.string().optional(),
  /** Only the nth matching request since the fault was set, counted from 1; or several of them. */
  nth: z.union([z.int().min(1), z.array(z.int().min(1))]).optional(),
});

const common = {
  match: match.default({}),
  /** The number of times it may fire. Without it: every time. */
  times: z.int().min(1).optional(),
  /** The chance that it fires on a matching request, 0 to 1. Default 1. */
  probability: z.number().min(0).max(1).optional(),
};

/** True if the request takes its effect (and its key is remembered) before it goes wrong. */
const effect = (usual: 'none' | 'done') => z.enum(['none', 'done']).default(usual);

const fault = <Kind extends string, Fields extends z.ZodRawShape>(kind: Kind, fields: Fields) =>
  z.strictObject({ kind: z.literal(kind), ...common, ...fields });

const faultSchema = z.discriminatedUnion('kind', [
  /** Any answer: 500, 503 with Retry-After, 429, 401, … A string body is sent as it is, anything else as JSON. */
  fault('status', {
    status: z.int().min(200).max(599),
    headers: z.record(z.string(), z.string()).default({}),
    body: z.unknown().optional(),
    effect: effect('none'),
  }),
  /** Never answers. */
  fault('hang', { effect: effect('none') }),
  /** The true answer, later by `ms`; the key is in progress meanwhile. */
  fault('delay', { ms: z.number().min(0) }),
  /** The true answer, its body a byte at a time. */
  fault('trickle', { intervalMs: z.number().min(0).default(100) }),
  /** The connection is reset; nothing happened. */
  fault('reset-before', {}),
  /** The connection is reset; it happened. */
  fault('reset-after-commit', {}),
  /** The true status and headers, half of the body, then the end of the connection. */
  fault('cut-off', { chunked: z.boolean().default(false) }),
  /** Half of the JSON as a complete body: the connection is fine, the text isn't. */
  fault('truncated-json', {}),
  /** The true status with a page made for people, as a proxy or a maintenance page does. */
  fault('html', { effect: effect('done') }),
  /** The answer's `total` is off by this much; the recorded one is right. */
  fault('wrong-total', { by: z.int().default(1) }),
  /** The true status without a body. */
  fault('empty-body', { effect: effect('done') }),
  /** The true status with JSON that isn't what was promised. */
  fault('invalid-json-shape', { body: z.unknown().default({ result: 'ok' }), effect: effect('done') }),
  /** Every remembered key is forgotten, then the request is served as usual. */
  fault('forget-keys', {}),
  /** Sent somewhere else; nothing happened. */
  fault('redirect', { status: z.int().min(300).max(399).default(302), location: z.string().default('/v1/moved') }),
  /** The true answer with this many bytes of padding (32 MiB), as valid JSON without a content length. */
  fault('oversize-body', { bytes: z.int().min(1).default(33_554_432) }),
]);

/** A fault as a caller sets it, in process or over HTTP. */
export type FaultInput = z.input<typeof faultSchema>;
/** A fault with its defaults filled in. */
export type Fault = z.output<typeof faultSchema>;
export type FaultKind = Fault['kind'];

/** Checks a list of faults and fills in the defaults. Throws an error that names every mistake. */
export function parseFaults(input: unknown): Fault[] {
  const parsed = z.array(faultSchema).safeParse(input);
  if (!parsed.success) throw new TypeError(`These faults can't be set:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** True if the request that meets this fault takes its effect. */
export function effectOf(fault: Fault): 'none' | 'done' {
  if ('effect' in fault) return fault.effect;
  return fault.kind === 'reset-before' || fault.kind === 'redirect' ? 'none' : 'done';
}

/** The properties by which a fault is matched. */
interface FaultTarget {
  method: string;
  /** With its query. */
  path: string;
  key: string | null;
  body: Buffer;
}

interface PlannedFault {
  readonly fault: Fault;
  seen: number;
  fired: number;
}

/** Decides which fault, if any, a request meets. */
export class FaultPlan {
  #planned: PlannedFault[] = [];

  constructor(readonly random: () => number) {}

  /** Replaces all faults. */
  set(faults: readonly Fault[]): void {
    this.#planned = [];
    this.add(faults);
  }

  add(faults: readonly Fault[]): void {
    this.#planned.push(...faults.map((fault) => ({ fault, seen: 0, fired: 0 })));
  }

  list(): PlannedFault[] {
    return this.#planned.map((one) => ({ ...one }));
  }

  /**
   * The first fault of the list that fires. Every matching one counts the request, so that `nth` doesn't depend on its
   * neighbours.
   */
  draw(target: FaultTarget): Fault | null {
    let drawn: PlannedFault | null = null;
    for (const one of this.#planned) {
      if (!matches(one.fault.match, target)) continue;
      one.seen++;
      if (!drawn && this.#fires(one)) drawn = one;
    }
    if (!drawn) return null;
    drawn.fired++;
    return drawn.fault;
  }

  #fires({ fault, seen, fired }: PlannedFault): boolean {
    if (fault.times !== undefined && fired >= fault.times) return false;
    const { nth } = fault.match;
    if (nth !== undefined && !(Array.isArray(nth) ? nth.includes(seen) : nth === seen)) return false;
    return fault.probability === undefined || this.random() < fault.probability;
  }
}

function matches({ method, path, key, bodyIncludes }: Fault['match'], target: FaultTarget): boolean {
  return (
    (method === undefined || target.method === method) &&
    (path === undefined || (typeof path === 'string' ? target.path.startsWith(path) : path.test(target.path))) &&
    (key === undefined || target.key === key) &&
    (bodyIncludes === undefined || target.body.includes(bodyIncludes))
  );
}
