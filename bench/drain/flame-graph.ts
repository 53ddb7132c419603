import { writeFile } from 'node:fs/promises';
import { type Profiler, Session } from 'node:inspector/promises';

interface Frame {
  name: string;
  /** Whose code it is: Waybill's, a library's, Node's, or V8's own work. */
  owner: string;
  /** With all that it called. */
  micros: number;
  below: Map<string, Frame>;
}

const sampleEveryMicros = 400;

/** Draws into an SVG file where the time of the main thread goes while `work` runs. */
export async function drawWhile(file: string, work: () => Promise<void>): Promise<void> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: sampleEveryMicros });
  await session.post('Profiler.start');
  await work();
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  await writeFile(file, flameGraph(profile));
}

/** One tree of all samples: a frame lies below the one that called it, as wide as its share of the time. Pure. */
export function flameGraph(profile: Profiler.Profile): string {
  const root = treeOf(profile);
  const rects: string[] = [];
  const depth = draw(root, 0, 0, root.micros, rects);
  const owners = [...ownTimes(root)].filter(([, micros]) => micros > root.micros / 200).sort((a, b) => b[1] - a[1]);
  const legend = owners.map(([owner, micros], nth) => {
    const x = 8 + (nth % 5) * (width / 5);
    const y = 8 + Math.floor(nth / 5) * rowHeight;
    const words = `${owner} ${share(micros, root.micros)}`;
    return `<rect x="${x}" y="${y}" width="12" height="12" fill="${colourOf(owner)}"/><text x="${x + 18}" y="${y + 11}">${escaped(words)}</text>`;
  });
  const top = 16 + Math.ceil(owners.length / 5) * rowHeight;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top + (depth + 1) * rowHeight}" font-family="sans-serif" font-size="11" role="img">
<title>Where the time of the main thread goes</title>
<rect width="100%" height="100%" fill="#fff"/>
${legend.join('\n')}
<g transform="translate(0 ${top})">
${rects.join('\n')}
</g>
</svg>
`;
}

const width = 1_200;
const rowHeight = 17;
/** Narrower frames are left out, with all that they called. */
const leastWidth = 1.5;

/** @returns the depth of the deepest frame that is drawn */
function draw(frame: Frame, x: number, depth: number, all: number, rects: string[]): number {
  const wide = (frame.micros / all) * width;
  if (wide < leastWidth) return depth - 1;
  const y = depth * rowHeight;
  const label = frame.name.slice(0, Math.max(0, Math.floor((wide - 6) / 5.7)));
  const words = `${frame.name} (${frame.owner}): ${share(frame.micros, all)}`;
  rects.push(
    `<g><title>${escaped(words)}</title><rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(wide - 0.5, 0.5).toFixed(1)}" height="${rowHeight - 1}" rx="1" fill="${colourOf(frame.owner)}"/>${
      label.length > 2 ? `<text x="${(x + 3).toFixed(1)}" y="${y + 12}">${escaped(label)}</text>` : ''
    }</g>`,
  );
  let deepest = depth;
  let left = x;
  for (const one of [...frame.below.values()].sort((a, b) => b.micros - a.micros)) {
    deepest = Math.max(deepest, draw(one, left, depth + 1, all, rects));
    left += (one.micros / all) * width;
  }
  return deepest;
}

/** Node calls queued callbacks from here: below these frames every stack would appear twice. */
const turns = new Set([
  'runNextTicks',
  'processImmediate',
  'processTicksAndRejections',
  'runMicrotasks',
  'processTimers',
  'listOnTimeout',
]);

function treeOf({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Frame {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const root: Frame = { name: 'the main thread, while it works', owner: 'all', micros: 0, below: new Map() };
  samples.forEach((id, nth) => {
    const stack: Profiler.ProfileNode[] = [];
    for (let at: number | undefined = id; at !== undefined; at = callers.get(at)) {
      const node = byId.get(at);
      if (node && node.callFrame.functionName !== '(root)') stack.unshift(node);
    }
    if (stack.at(-1)?.callFrame.functionName === '(idle)') return;
    const micros = timeDeltas[nth] ?? 0;
    root.micros += micros;
    let above = root;
    for (const { callFrame } of stack) {
      const owner = ownerOf(callFrame, above.owner);
      // A library or Node shows only its entry point and its calls into other owners.
      if ((owner === above.owner && owner !== 'Waybill') || turns.has(callFrame.functionName)) continue;
      const name = callFrame.functionName || '(anonymous)';
      const key = `${owner} ${name}`;
      const frame = above.below.get(key) ?? { name, owner, micros: 0, below: new Map() };
      above.below.set(key, frame);
      frame.micros += micros;
      above = frame;
    }
  });
  return root;
}

function ownerOf({ url, functionName }: Profiler.ProfileNode['callFrame'], caller: string): string {
  if (functionName === '(garbage collector)') return 'garbage collection';
  const [, library] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? [];
  // The statement counter wraps each call of the driver.
  if (library === 'better-sqlite3' || url.includes('/dist/test/')) return 'SQLite';
  if (library !== undefined) return library;
  if (url.startsWith('wasm:')) return 'undici';
  if (url.startsWith('node:') || functionName === '(program)') return 'Node';
  // A frame without an address is built into V8 or Node, and counts for its caller.
  if (url === '') return caller === 'all' ? 'Node' : caller;
  return url.includes('/dist/bench/') ? 'the bench' : 'Waybill';
}

/** The time in each owner's own code. */
function ownTimes(root: Frame): Map<string, number> {
  const times = new Map<string, number>();
  const add = (frame: Frame): void => {
    const called = [...frame.below.values()];
    const own = frame.micros - called.reduce((sum, { micros }) => sum + micros, 0);
    const owner = frame === root ? 'Node' : frame.owner;
    times.set(owner, (times.get(owner) ?? 0) + own);
    called.forEach(add);
  };
  add(root);
  return times;
}

const colours: Record<string, string> = {
  all: '#dddddd',
  Waybill: '#8fbce6',
  Node: '#c9d6c0',
  'garbage collection': '#e6a09a',
  undici: '#f2c879',
  axios: '#e3b5dd',
  SQLite: '#9fd3b0',
  mysql2: '#9fd3b0',
  pg: '#9fd3b0',
};

const colourOf = (owner: string): string => colours[owner] ?? '#e9e0c3';

const share = (micros: number, all: number): string => `${((micros / all) * 100).toFixed(1)} %`;

const escaped = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
