import { Secret } from '../model/secret.js';

type Tree = Record<string, unknown>;

/** The path of a setting: names, and positions in a list. */
export type Segments = readonly (string | number)[];

export const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Secret);

export function getIn(tree: unknown, segments: Segments): unknown {
  let value = tree;
  for (const segment of segments) {
    if (!(isTree(value) || Array.isArray(value)) || !Object.hasOwn(value, segment)) return undefined;
    value = (value as Tree)[segment];
  }
  return value;
}

/** Sets a value and makes the groups above it. A value where a group belongs is left alone: the schema refuses it. */
export function setIn(tree: Tree, segments: readonly string[], value: unknown): void {
  let group = tree;
  for (const segment of segments.slice(0, -1)) {
    group[segment] ??= {};
    const next = group[segment];
    if (!isTree(next)) return;
    group = next;
  }
  const last = segments.at(-1);
  if (last !== undefined) group[last] = value;
}

export function dropIn(tree: Tree, segments: readonly string[]): void {
  const group = getIn(tree, segments.slice(0, -1));
  const last = segments.at(-1);
  if (isTree(group) && last !== undefined) delete group[last];
}

/** `['answers', 0, 'status']` → `answers[0].status`. */
export function pathInWords(segments: Segments): string {
  let path = '';
  for (const segment of segments) {
    if (typeof segment === 'number') path += `[${segment}]`;
    else if (/^[\w-]+$/.test(segment)) path += path === '' ? segment : `.${segment}`;
    else path += `[${JSON.stringify(segment)}]`;
  }
  return path;
}
