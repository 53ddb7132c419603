import type { AxiosAdapter } from 'axios';
import type { ServiceSettings } from '../config/service-settings.js';
import type { KnownSecrets } from '../model/known-secrets.js';
import { type Clock, systemClock } from '../store/clock.js';
import { AuthorisedTransport } from './authorised-transport.js';
import { concurrencyOf } from './concurrency-of.js';
import { Connections } from './connections.js';
import type { CredentialFault } from './credential/credential.js';
import { openCredential } from './credential/open-credential.js';
import type { FileSource } from './credential/watched-files.js';
import { Pacer } from './pacer.js';
import { Transport } from './transport.js';

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
