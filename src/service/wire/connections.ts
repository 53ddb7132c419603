import { createRequire } from 'node:module';
import { createSecureContext, rootCertificates } from 'node:tls';
import type { buildConnector, Client, Dispatcher } from 'undici';
import type { ServiceSettings } from '../../config/sections/service.js';
import type { KnownSecrets } from '../../model/secret.js';
import { secretText } from '../credential/credential.js';
import { WatchedFiles, type WatchedFilesOptions } from '../credential/watched-files.js';
import { proxyTunnel } from './proxy-tunnel.js';
import { type Place, Pool } from './undici-adapter.js';
import { passingInterimAnswers } from './wire-exchange.js';

type Watching = Pick<WatchedFilesOptions<Material>, 'monotonicMs' | 'warn' | 'files'>;

/** Makes what requests to an origin go over, one at a time; tests stand in for it. */
export type OpenClient = (origin: string, options: Client.Options) => Dispatcher;

interface ConnectionsOptions extends Watching {
  service: Pick<ServiceSettings, 'tls' | 'proxy' | 'deadlineSeconds'>;
  secrets: KnownSecrets;
  /** Absent: undici. */
  openClient?: OpenClient | undefined;
}

/** The options of new connections. */
interface Material {
  ca?: string[];
  cert?: string;
  key?: string;
  passphrase?: string;
  proxyPassword?: string;
}

/** Kept connections, with the client certificate, private authorities and proxy of the settings. New files make new ones. */
export class Connections {
  readonly #material: WatchedFiles<Material>;
  readonly #retired = new Set<Pool>();
  #pool: Pool;
  #version: number;

  constructor(private readonly options: ConnectionsOptions) {
    this.#material = watchMaterial(options);
    this.#version = this.#material.version;
    this.#pool = this.#open();
  }

  /** @param origin scheme, host and port */
  take(origin: string): Place {
    return this.#pool.take(origin);
  }

  get version(): number {
    return this.#version;
  }

  /** See `WatchedFiles.look`. */
  look(atOnce = false): void {
    this.#material.look(atOnce);
    if (this.#material.version === this.#version) return;
    this.#version = this.#material.version;
    this.renew();
  }

  /** Requests under way end on the connections that they have; new ones go over new connections. */
  renew(): void {
    this.#pool.retire();
    for (const pool of this.#retired) if (pool.open.size === 0) this.#retired.delete(pool);
    this.#retired.add(this.#pool);
    this.#pool = this.#open();
  }

  changedAtMs(): number | null {
    return this.#material.changedAtMs();
  }

  close(): void {
    for (const { open } of [...this.#retired, this.#pool])
      for (const dispatcher of open) dispatcher.destroy().catch(() => undefined);
  }

  #open(): Pool {
    const { openClient = undiciClient } = this.options;
    let made: Client.Options | null = null;
    return new Pool((origin) => {
      made ??= this.#clientOptions();
      return openClient(origin, made);
    });
  }

  #clientOptions(): Client.Options {
    const { service } = this.options;
    const { proxyPassword, ...material } = this.#material.value;
    const { minVersion } = service.tls;
    // Never accept a certificate without a trusted authority, even where the environment says so.
    const secure = { secureContext: createSecureContext({ ...material, minVersion }), rejectUnauthorized: true };
    // The request has given up by then. This one only sees that no socket is left behind.
    const timeout = Math.ceil(service.deadlineSeconds * 1000) + 1_000;
    const connector = undici().buildConnector({ ...secure, timeout });
    // The deadline of the request covers all of its answer.
    const common = { headersTimeout: 0, bodyTimeout: 0 };
    const { proxy } = service;
    if (!proxy) return { ...common, connect: passingInterimAnswers(connector) };
    const authorisation = Buffer.from(`${proxy.user}:${proxyPassword}`).toString('base64');
    const headers: Record<string, string> =
      proxy.user === undefined ? {} : { 'Proxy-Authorization': `Basic ${authorisation}` };
    // The client certificate is for the service, not for the proxy.
    const tls = { ca: material.ca, minVersion, rejectUnauthorized: true };
    const tunnel = proxyTunnel({ url: proxy.url, headers, tls, timeoutMs: timeout }, connector);
    return { ...common, connect: passingInterimAnswers(tunnel) };
  }
}

const undiciClient: OpenClient = (origin, options) => new (undici().Client)(origin, options);

interface Undici {
  Client: typeof Client;
  buildConnector: typeof buildConnector;
}

let loaded: Undici | undefined;

/** Loaded with the first request, and only what is needed: the package as a whole brings a browser's fetch along, and takes 100 ms. */
function undici(): Undici {
  const require = createRequire(import.meta.url);
  loaded ??= {
    Client: require('undici/lib/dispatcher/client.js'),
    buildConnector: require('undici/lib/core/connect.js'),
  };
  return loaded;
}

/** The material of the settings, read anew when one of its files changes. */
function watchMaterial({ service, secrets, ...watching }: ConnectionsOptions): WatchedFiles<Material> {
  const { tls, proxy } = service;
  const files = {
    ca: tls.caFile,
    cert: tls.certificateFile,
    key: tls.keyFile,
    passphrase: tls.passphraseFile,
    proxyPassword: proxy?.passwordFile,
  };
  const given = {
    key: tls.key?.reveal(),
    passphrase: tls.passphrase?.reveal(),
    proxyPassword: proxy?.password?.reveal(),
  };
  const named = Object.entries(files).flatMap(([name, path]) => (path === undefined ? [] : [{ name, path }]));
  const load = (texts: readonly string[]): Material => {
    const read = Object.fromEntries(named.map(({ name }, i) => [name, texts[i] ?? '']));
    const of = (name: keyof typeof given) => (read[name] === undefined ? given[name] : secretText(read[name]));
    const [key, passphrase, proxyPassword] = [of('key'), of('passphrase'), of('proxyPassword')];
    const ca = read.ca === undefined ? undefined : [...rootCertificates, checkedPem(read.ca)];
    const material = defined({ ca, cert: read.cert, key, passphrase, proxyPassword });
    // A certificate whose key has not been replaced yet is refused here, and both are taken when they fit.
    if (Object.keys(material).length > 0) createSecureContext(material);
    for (const secret of [passphrase, proxyPassword]) if (secret) secrets.add(secret);
    if (proxy?.user !== undefined && proxyPassword !== undefined)
      secrets.add(Buffer.from(`${proxy.user}:${proxyPassword}`).toString('base64'));
    return material;
  };
  // Without files there is nothing to watch, but the settings may hold it all.
  const initial = named.length === 0 ? load([]) : defined(given);
  return new WatchedFiles({ ...watching, paths: named.map(({ path }) => path), initial, load });
}

function checkedPem(text: string): string {
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error('there is no certificate in it');
  return text;
}

function defined(material: Material): Material {
  return Object.fromEntries(Object.entries(material).filter(([, part]) => part !== undefined));
}
