/** One import that a source file makes, however it is written. */
export interface SourceImport {
  /** As it is written, with `*` for a folder or file that is not; undefined for `import(somewhere)`. */
  specifier: string | undefined;
  /** It vanishes on compiling, and so binds types alone. */
  typeOnly: boolean;
}

// TypeScript 7 has no parser to call from JavaScript. Biome's formatting leaves few ways to write an import; the tests
// name each of them.
const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|[\s;{}(),])\/\/.*$/gm;
const STATIC = /^\s*(?:import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]/gm;
const DYNAMIC = /\bimport\(\s*(?:['"`]([^'"`]+)['"`])?/g;

/** The imports that are loaded with a file. Those of types alone vanish, also where each name says so. */
export function staticImports(source: string): SourceImport[] {
  const code = source.replace(COMMENT, '').replace(/import \{(?:\s*type [^,}]+,?)+\s*\} from [^;]+;/g, '');
  return [...code.matchAll(STATIC)].map(([, type, specifier]) => ({ specifier, typeOnly: type !== undefined }));
}

/** Every static, dynamic and re-exporting import of a TypeScript source, in no special order. */
export function sourceImports(source: string): SourceImport[] {
  const code = source.replace(COMMENT, '');
  return [
    ...[...code.matchAll(STATIC)].map(([, type, specifier]) => ({ specifier, typeOnly: type !== undefined })),
    ...[...code.matchAll(DYNAMIC)].map(([, specifier]) => ({
      specifier: specifier?.replaceAll(/\$\{\w+\}/g, '*'),
      typeOnly: false,
    })),
  ];
}
