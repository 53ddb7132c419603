export interface Tree {
  [name: string]: unknown;
}

/** Settings over others, section by section; what is undefined over them is taken out. */
export function merge(base: Tree, over: Tree): Tree {
  const merged = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const before = merged[name];
    merged[name] = isTree(before) && isTree(value) ? merge(before, value) : value;
    if (value === undefined) delete merged[name];
  }
  return merged;
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
