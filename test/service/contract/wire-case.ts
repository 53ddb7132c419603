import type { ServiceSettings } from '../../../src/config/sections/service.js';
import type { LookUpFinding } from '../../../src/model/verdict.js';
import type { SendRequest } from '../../../src/service/compose-request.js';
import { existingCustomerEndpoint } from '../../../src/service/look-up.js';
import type { Sent, ServiceClient } from '../../../src/service/service-client.js';
import { tell } from '../../../src/words/words.js';
import { type Clients, sending, serviceAt } from '../wire-client.js';
import type { Reply, SeenRequest, WireLab } from '../wire-lab.js';

/** The outcome of one case on the wire. */
export interface WireRun {
  sent: Sent;
  lookedUp: Sent<LookUpFinding> | null;
  client: ServiceClient;
  requests: readonly SeenRequest[];
}

/** A setting, and what it changes on the wire or in what is made of an answer. */
export interface SettingCase {
  setting: string;
  /** Under `service`; a function where it needs the address of the far end. */
  service: object | ((url: string) => object);
  /** The case that it is compared with. Absent: the defaults. */
  usual?: object | ((url: string) => object);
  send?: Partial<SendRequest>;
  /** Asks for the record instead of sending it. */
  lookUp?: 'customer' | 'order';
  /** The number of requests. Absent: one. */
  times?: number;
  replies: Reply[];
  observe: (run: WireRun) => unknown;
  expected: unknown;
}

export async function runOnWire(
  lab: WireLab,
  clients: Clients,
  { service, replies, send, lookUp, times = 1 }: Pick<SettingCase, 'service' | 'replies' | 'send' | 'lookUp' | 'times'>,
): Promise<WireRun> {
  lab.requests.length = 0;
  lab.script(...replies);
  const changes = typeof service === 'function' ? service(lab.url) : service;
  const client = clients.at(lab.url, changes, 0);
  const request = sending(send);
  let sent: Sent | null = null;
  let lookedUp: Sent<LookUpFinding> | null = null;
  for (let i = 0; i < times; i++)
    if (lookUp) lookedUp = await ask(client, serviceAt(lab.url, changes), lookUp, request);
    else sent = await client.send(request);
  return { sent: sent as Sent, lookedUp, client, requests: [...lab.requests] };
}

async function ask(
  client: ServiceClient,
  service: ServiceSettings,
  entity: 'customer' | 'order',
  request: SendRequest,
) {
  const endpoint = entity === 'order' ? service.endpoints.lookUpOrder : existingCustomerEndpoint(service);
  if (!endpoint) return null;
  const { record, idempotencyKey, gate } = request;
  return client.lookUp(endpoint, { entity, record, idempotencyKey }, { gate });
}

export const verdictOf = ({ sent }: WireRun) => sent.verdict.kind;
export const reasonOf = ({ sent }: WireRun) => ('reason' in sent.verdict ? tell(sent.verdict.reason) : null);
/** Method and address of the last request. */
export const lineOf = ({ requests }: WireRun) => `${requests.at(-1)?.method} ${requests.at(-1)?.path}`;
export const headerOf = (name: string) => (run: WireRun) => run.requests.at(-1)?.headers[name];
export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Reply => ({
  kind: 'answer',
  status,
  headers: { 'Content-Type': 'application/json', ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
