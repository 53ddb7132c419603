import http from 'node:http';
import https from 'node:https';
import { createSecureContext, rootCertificates } from 'node:tls';
import type { ServiceSettings } from '../../config/sections/service.js';
import type { KnownSecrets } from '../../model/secret.js';
import { secretText } from '../credential/credential.js';
import { WatchedFiles, type WatchedFilesOptions } from '../credential/watched-files.js';
import { ProxyTunnel, type TunnelOptions } from './proxy-tunnel.js';

type Watching = Pick<WatchedFilesOptions<Material>, 'monotonicMs' | 'warn' | 'files'>;

interface ConnectionsOptions extends Watching {
  service: Pick<ServiceSettings, 'tls' | 'proxy'>;
  maxSockets: number;
  secrets: KnownSecrets;
}

/** What connections are made with. */
interface Material {
  ca?: string[];
  cert?: string;
  key?: string;
  passphrase?: string;
  proxyPassword?: string;
}

interface Agents {
  http: http.Agent;
  https: https.Agent;
}

/** Kept connections, with the client certificate, private authorities and proxy of the settings. New files make new ones. */
export class Connections {
  readonly #material: WatchedFiles<Material>;
  readonly #retired = new Set<http.Agent>();
  #agents: Agents;
  #version: number;

  constructor(private readonly options: ConnectionsOptions) {
    this.#material = watchMaterial(options);
    this.#version = this.#material.version;
    this.#agents = this.#open();
  }

  get agents(): Agents {
    return this.#agents;
  }

  /** Whether requests go through a proxy, so that a connection proves nothing of the service. */
  get isTunnelled(): boolean {
    return this.options.service.proxy !== undefined;
  }

  get version(): number {
    return this.#version;
  }

  /** See `WatchedFiles.look`. What is under way ends on the connections it has. */
  look(atOnce = false): void {
    this.#material.look(atOnce);
    if (this.#material.version === this.#version) return;
    this.#version = this.#material.version;
    for (const agent of Object.values(this.#agents)) this.#retire(agent);
    this.#agents = this.#open();
  }

  changedAtMs(): number | null {
    return this.#material.changedAtMs();
  }

  close(): void {
    for (const agent of [...this.#retired, ...Object.values(this.#agents)]) agent.destroy();
  }

  #retire(agent: http.Agent): void {
    // Node destroys a connection that comes free when its agent keeps none.
    (agent as http.Agent & { keepAlive: boolean }).keepAlive = false;
    for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
    this.#retired.add(agent);
    for (const old of this.#retired) if (Object.keys(old.sockets).length === 0) this.#retired.delete(old);
    this.#retired.add(agent);
  }

  #open(): Agents {
    const { service, maxSockets } = this.options;
    const { proxyPassword, ...tls } = this.#material.value;
    const kept = { keepAlive: true, maxSockets };
    // Never accept a certificate without a trusted authority, even where the environment says so.
    const secure = { ...tls, minVersion: service.tls.minVersion, rejectUnauthorized: true };
    const { proxy } = service;
    if (!proxy) return { http: new http.Agent(kept), https: new https.Agent({ ...kept, ...secure }) };
    const authorisation = Buffer.from(`${proxy.user}:${proxyPassword}`).toString('base64');
    const headers = proxy.user === undefined ? {} : { 'Proxy-Authorization': `Basic ${authorisation}` };
    // The client certificate is for the service, not for the proxy.
    const { cert: _cert, key: _key, passphrase: _passphrase, ...toProxy } = secure;
    const tunnel = () => new ProxyTunnel(proxy.url, { ...kept, ...toProxy, headers } as TunnelOptions, secure);
    return { http: tunnel(), https: tunnel() as unknown as https.Agent };
  }
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
    createSecureContext(material);
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
