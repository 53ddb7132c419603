import type { ComponentChildren } from 'preact';

/** A table that scrolls by itself where it is wider than the screen. Columns named in `numbers` are aligned to the right. */
export function Table(props: {
  label: string;
  head: readonly string[];
  rows: readonly (readonly ComponentChildren[])[];
  numbers?: readonly string[];
}) {
  const { label, head, rows, numbers = [] } = props;
  const classOf = (index: number) => (numbers.includes(head[index] ?? '') ? 'number' : undefined);
  return (
    // It is scrolled with the keyboard too.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reached by keyboard
    <section class="wide" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {head.map((name, index) => (
              <th key={name} scope="col" class={classOf(index)}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, index) => (
                <td key={index} class={classOf(index)}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Links to the first and to the next page, and to the whole as CSV. `next`: what the address of the next page adds. */
export function Pager(props: {
  path: string;
  query: URLSearchParams;
  next: { [name: string]: string } | null;
  csv?: boolean;
}) {
  const { path, query, next, csv = true } = props;
  const rest = withoutPage(query);
  const nextQuery = new URLSearchParams(rest);
  for (const [name, value] of Object.entries(next ?? {})) nextQuery.set(name, value);
  const isFirst = rest.size === query.size;
  return (
    <nav class="pager" aria-label="More of the list">
      {!isFirst && <a href={address(path, rest)}>First page</a>}
      {next !== null && <a href={address(path, nextQuery)}>Next page</a>}
      {csv && <a href={address(`${path}.csv`, rest)}>All of it as CSV</a>}
    </nav>
  );
}

/** The filter of an address, without where in the list it is. Pure. */
export function withoutPage(query: URLSearchParams): URLSearchParams {
  const rest = new URLSearchParams(query);
  for (const name of ['before', 'after', 'key-after']) rest.delete(name);
  for (const [name, value] of [...rest]) if (value === '') rest.delete(name);
  return rest;
}

function address(path: string, query: URLSearchParams): string {
  return query.size === 0 ? path : `${path}?${query}`;
}

/** A field of a filter: a choice where there are values, otherwise a text. */
export function FilterField(props: {
  query: URLSearchParams;
  name: string;
  label: string;
  values?: readonly string[];
}) {
  const { query, name, label, values } = props;
  const value = query.get(name) ?? '';
  return (
    <div>
      <label for={`filter-${name}`}>{label}</label>
      {values ? (
        <select id={`filter-${name}`} name={name}>
          <option value="">all</option>
          {values.map((one) => (
            <option key={one} value={one} selected={one === value}>
              {one.replace('_', ' ')}
            </option>
          ))}
        </select>
      ) : (
        <input id={`filter-${name}`} name={name} value={value} maxLength={255} />
      )}
    </div>
  );
}
