/** Tokens learnt from one answer at most, so that a hostile one can't push older secrets out of what is remembered. */
const mostTokens = 3;

const inJson = /"(?:access|refresh|id)_token"\s*:\s*"((?:[^"\\]|\\.){1,8192})"?/g;
const inForm = /\b(?:access|refresh|id)_token=([^&\s"]{1,8192})/g;

/** The tokens that an answer of a token endpoint carries, wherever they stand in it, also where it is cut off or no JSON. Pure. */
export function tokensIn(body: string): string[] {
  const found = [
    ...Array.from(body.matchAll(inJson), ([, text = '']) => unescaped(text)),
    ...Array.from(body.matchAll(inForm), ([, text = '']) => text),
  ];
  return [...new Set(found)].slice(0, mostTokens);
}

function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}
