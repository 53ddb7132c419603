import { Socket } from 'node:net';
import type { StoreSettings } from '../config/sections/store.js';
import type { WriteBackSettings } from '../config/sections/write-back.js';
import type { Settings } from '../config/settings.js';
import { type DatabasePlace, isInFile } from '../model/database-place.js';
import type { Secret } from '../model/secret.js';

/** An account at a database server. */
export interface ServerAccount extends DatabasePlace {
  database: string;
  user?: string | undefined;
  password?: Secret | undefined;
}

/** The settings of an ERP on a server. */
export type ServerErp = Extract<Settings['erp'], { host: string }>;

/** The account of a store on a server. */
export function storeAccount(settings: StoreSettings) {
  if (isInFile(settings)) throw new Error(`${settings.file} is on no server.`);
  return settings;
}

/** The store in messages, such as `waybill@db.example:5432/waybill`. */
export function storePlace(settings: StoreSettings): string {
  const { user, host, port, database } = storeAccount(settings);
  return `${user}@${host}:${port}/${database}`;
}

/** The account of the write-back. A place that its settings leave out is that of the ERP. */
export function writeBackAccount(
  erp: ServerAccount,
  { host, port, tls, database, user, password }: WriteBackSettings,
): ServerAccount {
  return {
    host: host ?? erp.host,
    port: port ?? erp.port,
    tls: host === undefined ? { ...erp.tls, ...tls } : tls,
    database: database ?? erp.database,
    user,
    password,
  };
}

/** A server that can be reached answers a connection of the ERP by then. */
export const connectTimeoutMs = 5_000;
/** An idle connection that doesn't answer by then is replaced by a new one. */
export const pingTimeoutMs = 2_000;
/** The time after the server's own limit at which we give up on a statement: a server that is frozen can't keep it. */
export const graceMs = 5_000;
const goodbyeMs = 1_000;

/** A socket for a driver, which connects and ends it. A server that is frozen never ends its side, so we do. */
export function socketForDriver(): Socket {
  const socket = new Socket();
  return socket.once('finish', () => afterGoodbye(socket));
}

/** Ends a socket that its server has been told to end, and does not. */
export function afterGoodbye(socket: Socket): void {
  setTimeout(() => socket.destroy(), goodbyeMs).unref();
}

/** @throws what `late` makes when the work takes longer */
export async function inTime<T>(work: Promise<T>, limitMs: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), limitMs);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
    // Late work ends with its connection.
    work.catch(() => undefined);
  }
}
