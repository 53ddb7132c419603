/** How many single-letter edits, swaps of neighbours included, turn one name into the other. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cell = (up: number, left: number) => rows[i - up]?.[j - left] ?? 0;
      const changed = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(cell(1, 0) + 1, (row[j - 1] ?? 0) + 1, cell(1, 1) + changed);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, cell(2, 2) + 1);
      row.push(best);
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? 0;
}

/** The known name that somebody most likely meant, or undefined when none is close. Case, `-` and `_` don't count. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_]/g, '');
  const wanted = plain(name);
  let nearest: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const steps = distance(wanted, plain(candidate));
    if (steps <= Math.max(1, Math.floor(candidate.length / 3)) && steps < (nearest?.distance ?? Infinity)) {
      nearest = { name: candidate, distance: steps };
    }
  }
  return nearest?.name;
}
