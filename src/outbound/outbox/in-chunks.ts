/** Rows as they come, so many at a time; none where there is no source. */
export async function* inChunks<T>(rows: AsyncIterable<T> | null, size: number): AsyncGenerator<T[]> {
  let chunk: T[] = [];
  for await (const row of rows ?? []) {
    chunk.push(row);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
