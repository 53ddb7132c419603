import type { AxiosAdapter } from 'axios';
import type { ServiceSettings } from '../../config/sections/service.js';
import type { KnownSecrets } from '../../model/secret.js';
import { type Clock, systemClock } from '../../store/clock.js';
import type { Credential, CredentialFault } from '../credential/credential.js';
import { OauthCredential, type OauthCredentialOptions } from '../credential/oauth-credential.js';
import { NoHeader, StaticCredential } from '../credential/static-credential.js';
import type { FileSource } from '../credential/watched-files.js';
import { concurrencyOf } from '../rate-limit/concurrency.js';
import { Pacer } from '../rate-limit/rate-limiter.js';
import { AuthorisedTransport } from './authorised-transport.js';
import { Connections } from './connections.js';
import { Transport } from './transport.js';

/** The credential of the settings. */
export function openCredential(
  service: Pick<ServiceSettings, 'credential' | 'token' | 'tokenFile'>,
  options: Omit<OauthCredentialOptions, 'settings' | 'secrets'> & { secrets: KnownSecrets },
): Credential {
  const { credential, token, tokenFile } = service;
  switch (credential.kind) {
    case 'oauth':
      return new OauthCredential({ ...options, settings: credential });
    case 'certificate':
      return new NoHeader();
    default:
      return new StaticCredential({ ...options, settings: credential, token: token?.reveal() ?? '', tokenFile });
  }
}

export interface WireOptions {
  service: ServiceSettings;
  quickResends: number;
  nowMs: () => number;
  /** What the pace is measured by; absent: the system's. */
  clock?: Clock;
  /** What puts a request on the wire; absent: Node's own http. */
  adapter?: AxiosAdapter;
  /** Learns of every secret that comes while the program runs, and says what is taken out of all that is said. */
  secrets?: KnownSecrets;
  /** Told what somebody should know of the files of the credential. */
  warn?: (message: string) => void;
  /** Told of each access token that came (null), and of each that did not. */
  onToken?: (fault: CredentialFault | null) => void;
  /** What the files of the credential are read by; absent: the disk. */
  files?: FileSource;
}

export interface Wire {
  pacer: Pacer;
  transport: AuthorisedTransport;
  close: () => void;
}

/** One pace, one set of connections and one credential for all that goes to the service. */
export function openWire(options: WireOptions & { secrets: KnownSecrets }): Wire {
  const { service, secrets, nowMs } = options;
  const concurrency = concurrencyOf(service);
  const pacer = new Pacer({
    concurrency,
    limits: service.limits.map(({ requests, perSeconds }) => ({ requests, windowMs: perSeconds * 1000 })),
    ...(options.clock ? { clock: options.clock } : {}),
  });
  const watching = {
    secrets,
    monotonicMs: (options.clock ?? systemClock).monotonicMs,
    warn: options.warn ?? (() => undefined),
    ...(options.files ? { files: options.files } : {}),
  };
  if (service.token) secrets.add(service.token.reveal());
  const connections = new Connections({ service, maxSockets: concurrency, ...watching });
  const transport = new Transport({ ...options, pacer, connections });
  const credential = openCredential(service, {
    ...watching,
    send: (request, gate) => transport.askForToken(request, gate),
    nowMs,
    random: Math.random,
    ...(options.onToken ? { onAnswer: options.onToken } : {}),
  });
  return {
    pacer,
    transport: new AuthorisedTransport(transport, credential, connections),
    close: () => {
      pacer.close();
      transport.close();
    },
  };
}
