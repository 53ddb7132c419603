import { expect } from 'chai';
import { sourceImports } from './source-imports.js';

describe('reading the imports of a source', () => {
  const cases: [string, ReturnType<typeof sourceImports>][] = [
    [`import { a } from './a.js';`, [{ specifier: './a.js', typeOnly: false }]],
    [`import a, {\n  b,\n} from './a.js';`, [{ specifier: './a.js', typeOnly: false }]],
    [`import * as a from './a.js';`, [{ specifier: './a.js', typeOnly: false }]],
    [`import './a.js';`, [{ specifier: './a.js', typeOnly: false }]],
    [`import type { A } from './a.js';`, [{ specifier: './a.js', typeOnly: true }]],
    [`import { type A } from './a.js';`, [{ specifier: './a.js', typeOnly: false }]],
    [`export { a } from './a.js';`, [{ specifier: './a.js', typeOnly: false }]],
    [`export * from './a.js';`, [{ specifier: './a.js', typeOnly: false }]],
    [`export type { A } from './a.js';`, [{ specifier: './a.js', typeOnly: true }]],
    [`const a = await import('./a.js');`, [{ specifier: './a.js', typeOnly: false }]],
    [`const a = await import(\n  './a.js'\n);`, [{ specifier: './a.js', typeOnly: false }]],
    ['const a = await import(name);', [{ specifier: undefined, typeOnly: false }]],
    [`const a = await import(\`./\${name}.js\`);`, [{ specifier: './*.js', typeOnly: false }]],
    [`// import { a } from './a.js';`, []],
    [`/*\nimport { a } from './a.js';\n*/`, []],
    [`export const from = 'here';`, []],
    [`export type A = 'a' | 'b';`, []],
  ];
  for (const [source, imports] of cases) {
    it(`finds ${imports.length} in ${JSON.stringify(source)}`, () => {
      expect(sourceImports(source)).to.deep.equal(imports);
    });
  }
});
