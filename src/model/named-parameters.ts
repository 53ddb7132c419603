/** A statement cut at its named parameters: one more piece of text than there are names. */
interface NamedStatement {
  pieces: string[];
  names: string[];
}

const parameter = String.raw`:(?<name>[A-Za-z_]\w*)`;
/** Parts that may hold a colon that is no parameter; quotes and comments end with the statement at the latest. */
const quotedIdentifier = '`[^`]*(?:`|$)';
const quoted = `'[^']*(?:'|$)|"[^"]*(?:"|$)`;
const quotedWithBackslashes = String.raw`'(?:\\[\s\S]|[^'\\])*(?:'|\\?$)|"(?:\\[\s\S]|[^"\\])*(?:"|\\?$)`;
/** PostgreSQL's own: E'it\\'s', $$it's$$ and $tag$it's$tag$. */
const ofPostgres = String.raw`(?<!\w)[eE]'(?:\\[\s\S]|[^'\\])*(?:'|\\?$)|(?<![\w$])\$(?<tag>\w*)\$[\s\S]*?(?:\$\k<tag>\$|$)`;
const commentOrCast = String.raw`--[^\n]*|/\*[\s\S]*?(?:\*/|$)|::`;

function opaque(backslashEscapes: boolean): string[] {
  const quotes = backslashEscapes ? [quotedWithBackslashes] : [ofPostgres, quoted];
  return [...quotes, quotedIdentifier, commentOrCast];
}

/** True if a SELECT, or one that it selects from, yields no more than a number of rows. One in other brackets may. Pure. */
export function hasLimit(query: string, backslashEscapes: boolean): boolean {
  let left = query.replace(new RegExp(opaque(backslashEscapes).join('|'), 'g'), ' ').replace(/\bFROM\s*\(/gi, 'FROM {');
  for (let before = ''; before !== left; ) {
    before = left;
    left = left.replace(/([({])([^(){}]*)[)]/g, (_, open: string, inner: string) => (open === '{' ? inner : ' '));
  }
  return /\b(LIMIT|FETCH\s+(FIRST|NEXT))\b/i.test(left);
}

/**
 * The parameters by which a statement picks its rows: those behind WHERE, or all of one that writes a row of its own. Pure.
 * @param backslashEscapes as below
 */
export function pickingParameters(statement: string, backslashEscapes: boolean): string[] {
  const plain = statement.replace(new RegExp(opaque(backslashEscapes).join('|'), 'g'), ' ');
  const [, ...where] = plain.split(/\bWHERE\b/i);
  const picks = /^\s*(UPDATE|DELETE|WITH)\b/i.test(plain) ? where.join(' ') : plain;
  return [...picks.matchAll(new RegExp(parameter, 'g'))].flatMap(({ groups }) => groups?.name ?? []);
}

/**
 * Finds the parameters `:name` of a statement, but not in quotes or comments, and not behind `::`. Pure.
 * @param backslashEscapes whether a backslash in quotes takes the next character's meaning away, as in MySQL
 */
export function parseNamedParameters(statement: string, backslashEscapes: boolean): NamedStatement {
  const tokens = new RegExp([...opaque(backslashEscapes), parameter].join('|'), 'g');
  const found: NamedStatement = { pieces: [], names: [] };
  let end = 0;
  for (const { 0: token, groups, index } of statement.matchAll(tokens)) {
    const name = groups?.name;
    if (name === undefined) continue;
    found.pieces.push(statement.slice(end, index));
    found.names.push(name);
    end = index + token.length;
  }
  found.pieces.push(statement.slice(end));
  return found;
}
