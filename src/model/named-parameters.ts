/** A statement cut at its named parameters: one more piece of text than there are names. */
export interface NamedStatement {
  pieces: string[];
  names: string[];
}

const quotes = new Set(["'", '"', '`']);

/**
 * Finds the parameters `:name` of a statement; what stands in quotes or comments is none, nor is `::`. Pure.
 * @param backslashEscapes whether a backslash in quotes takes the next character's meaning away, as in MySQL
 */
export function parseNamedParameters(statement: string, backslashEscapes: boolean): NamedStatement {
  const found: NamedStatement = { pieces: [], names: [] };
  let pieceStart = 0;
  let at = 0;
  while (at < statement.length) {
    const end = endOfText(statement, at, backslashEscapes);
    if (end > at) {
      at = end;
      continue;
    }
    const [whole, name] = /^:([A-Za-z_]\w*)/.exec(statement.slice(at, at + 80)) ?? [];
    if (whole === undefined || name === undefined) {
      at += statement.startsWith('::', at) ? 2 : 1;
      continue;
    }
    found.pieces.push(statement.slice(pieceStart, at));
    found.names.push(name);
    at += whole.length;
    pieceStart = at;
  }
  found.pieces.push(statement.slice(pieceStart));
  return found;
}

/** Where the quoted text or the comment ends that begins here; `at` where none does. */
function endOfText(statement: string, at: number, backslashEscapes: boolean): number {
  const quote = statement[at] as string;
  if (quotes.has(quote)) {
    for (let i = at + 1; i < statement.length; i++) {
      if (backslashEscapes && quote !== '`' && statement[i] === '\\') i++;
      else if (statement[i] === quote) return i + 1;
    }
    return statement.length;
  }
  if (statement.startsWith('--', at)) return endBehind(statement, '\n', at);
  if (statement.startsWith('/*', at)) return endBehind(statement, '*/', at + 2);
  return at;
}

function endBehind(statement: string, end: string, from: number): number {
  const found = statement.indexOf(end, from);
  return found < 0 ? statement.length : found + end.length;
}
