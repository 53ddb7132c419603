/** The kinds of databases on servers. A further one is its line here and the folder of its name in src/db. */
export const servers = {
  mysql: { port: 3306, backslashEscapes: true, note: 'MySQL or MariaDB' },
  postgres: { port: 5432, backslashEscapes: false, note: 'PostgreSQL' },
};
export type ServerKind = keyof typeof servers;

export const serverKinds = Object.keys(servers) as [ServerKind, ...ServerKind[]];
export const fileKind = 'sqlite';
/** Every kind, for whoever chooses one. */
export const databaseKinds = [
  ...serverKinds.map((value) => ({ value, note: servers[value].note })),
  { value: fileKind, note: 'a SQLite file' },
];

export const isServerKind = (kind: string | null | undefined): kind is ServerKind => Object.hasOwn(servers, kind ?? '');

/** @param kind also of a database in a file, which has none; or null, where it is not known */
export function defaultPort(kind: string | null): number | undefined {
  return servers[kind === null ? 'mysql' : (kind as ServerKind)]?.port;
}

/** True if a backslash in the quotes of this kind takes away the meaning of the next character. */
export function backslashEscapes(kind: string | undefined): boolean {
  return isServerKind(kind) && servers[kind].backslashEscapes;
}
