const nextNames = ['next', 'next_page', 'nextPage', 'next_page_token', 'nextPageToken', 'next_cursor', 'nextCursor'];
const moreNames = ['has_more', 'hasMore', '@odata.nextLink', 'nextLink'];
const envelopes = ['links', '_links', 'meta', 'pagination', 'paging'];

/** True if the page says in one of the usual places that another one follows. */
export function namesNextPage(value: unknown): boolean {
  const places = [value, ...envelopes.map((name) => ownValue(value, name))];
  return places.some((place) =>
    [...nextNames, ...moreNames].some((name) => {
      const said = ownValue(place, name);
      return said !== undefined && said !== null && said !== false && said !== '' && said !== 0;
    }),
  );
}

/** A name with a dot in it, such as `@odata.nextLink`, is one name. */
function ownValue(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as { [name: string]: unknown })[name];
}
