import { readFileSync } from 'node:fs';
import { isIP, connect as plainConnect, type Socket } from 'node:net';
import { rootCertificates, type TLSSocket, connect as tlsConnect } from 'node:tls';
import type { Settings } from '../../../config/settings.js';
import { invoicePagePlaces } from '../../../inbound/invoices/invoice-page.js';
import type { Fact } from '../../../model/facts/fact.js';
import type { JobContext } from '../../../ops/job-context.js';
import { recallRequests, tryNewCredential } from '../../../outbound/deliver/lane-keeper.js';
import { ServiceLease } from '../../../outbound/deliver/service-lease.js';
import { ServiceReads } from '../../../outbound/deliver/service-reads.js';
import type { ServiceClient } from '../../../service/service-client.js';
import { type Finding, findingsOf } from './finding.js';

const finding = findingsOf('service');
const dayMs = 86_400_000;
const connectMs = 10_000;

/** Checks that the service can be reached, and its certificate. Opens a connection and sends no request. */
export async function checkConnection({ service }: Settings, nowMs: number): Promise<Finding[]> {
  const url = new URL(service.baseUrl);
  if (service.proxy)
    return [
      finding(
        'note',
        'Requests go through a proxy, so only a request shows whether the service is there.',
        'waybill doctor --ask-service',
      ),
    ];
  const socket = await open(url, service).catch((error: NodeJS.ErrnoException) => error);
  if (socket instanceof Error) return [judgeNoConnection(url.host, socket)];
  try {
    const there = finding('ok', `${url.host} takes connections.`);
    if (url.protocol !== 'https:') return [there];
    const { valid_to: validTo } = (socket as TLSSocket).getPeerCertificate();
    return [there, judgeCertificate(Date.parse(validTo), nowMs)];
  } finally {
    socket.destroy();
  }
}

function open({ hostname, port, protocol }: URL, { tls }: Settings['service']): Promise<Socket> {
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const socket: Socket =
      protocol === 'https:'
        ? tlsConnect({
            host,
            port: Number(port || 443),
            ...(isIP(host) ? {} : { servername: host }),
            ...(tls.caFile === undefined ? {} : { ca: [...rootCertificates, readFileSync(tls.caFile, 'utf8')] }),
            ...(tls.certificateFile === undefined ? {} : { cert: readFileSync(tls.certificateFile, 'utf8') }),
            ...(tls.key === undefined ? {} : { key: tls.key.reveal() }),
            ...(tls.passphrase === undefined ? {} : { passphrase: tls.passphrase.reveal() }),
            minVersion: tls.minVersion,
          })
        : plainConnect({ host, port: Number(port || 80) });
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(connectMs, () => fail(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
    socket.once('error', fail);
    socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => resolve(socket));
  });
}

/** Pure. */
export function judgeNoConnection(host: string, { code = '', message }: NodeJS.ErrnoException): Finding {
  const isCertificate = /CERT|SELF_SIGNED|VERIFY|ALTNAME|SSL|TLS/i.test(code);
  return finding(
    'error',
    `${host} can not be reached: ${message}.`,
    isCertificate
      ? 'service.tls.caFile: the certificate of its authority; compare the name in the certificate with service.baseUrl'
      : 'Compare service.baseUrl, and ask whether a firewall is in between',
  );
}

/** Pure. */
export function judgeCertificate(validToMs: number, nowMs: number): Finding {
  const days = Math.floor((validToMs - nowMs) / dayMs);
  if (!Number.isFinite(days)) return finding('note', 'The service shows a certificate without an end.');
  const end = new Date(validToMs).toISOString().slice(0, 10);
  if (days < 0)
    return finding('error', `Its certificate has ended on ${end}.`, 'The operator of the service has to renew it');
  if (days < 14)
    return finding(
      'warning',
      `Its certificate ends on ${end}, in ${days} days.`,
      'Ask the operator of the service whether it is renewed by itself',
    );
  return finding('ok', `Its certificate is good until ${end}.`);
}

/**
 * One harmless question, a page with one invoice, as a pull asks it: paced, on record and in the audit, behind every pause. Only
 * where the operator said so.
 */
export async function askService(context: JobContext, client: ServiceClient): Promise<Finding[]> {
  const { settings } = context;
  const { path, successStatus } = settings.service.endpoints.listInvoices;
  const { paging, states, scope } = settings.invoices;
  if (!settings.invoices.enabled || scope !== 'all')
    return [
      finding(
        'note',
        'No harmless question is known: invoices are not read as one list.',
        'waybill sync --limit 1 tries the credential',
      ),
    ];
  const lease = await ServiceLease.acquire(context);
  if (!(lease instanceof ServiceLease))
    return [
      finding(
        'note',
        `${lease.holder} talks to the service right now, so the doctor did not.`,
        'waybill status says how it goes',
      ),
    ];
  try {
    await recallRequests(context, client.rateLimiter, lease);
    await tryNewCredential(context, client, lease);
    const reads = new ServiceReads(context, client, lease, { tries: 1 });
    const asked = await reads.ask({
      purpose: 'list_invoices',
      path,
      query: {
        ...paging.query,
        [paging.status]: states[0] as string,
        [paging.limit]: '1',
        [paging.page]: String(paging.firstPage),
      },
      answers: [successStatus],
      places: invoicePagePlaces(paging.fields),
      read: () => null,
      keep: async () => undefined,
      detail: { askedBy: 'doctor' },
    });
    if ('value' in asked)
      return [finding('ok', 'The service takes the credential: it has answered a question for one invoice.')];
    return [judgeAnswer(asked)];
  } finally {
    await lease.release();
  }
}

/** Pure. @param verdict what the judge made of the answer */
export function judgeAnswer({ noAnswer, verdict }: { noAnswer: Fact; verdict: string }): Finding {
  return { ...judgeVerdict(verdict), because: noAnswer };
}

function judgeVerdict(verdict: string): Finding {
  switch (verdict) {
    case 'unauthorised':
      return finding(
        'error',
        'The service refuses the credential',
        'Compare service.tokenFile, or service.oauth, with what the service gave you',
      );
    case 'not_sent':
      return finding('warning', 'The question was not sent', 'waybill status');
    case 'throttled':
      return finding('note', 'The service asks for patience', 'Compare service.limits with what the service allows');
    default:
      return finding(
        'error',
        'The service did not answer a question for one invoice',
        'Compare service.baseUrl and service.endpoints.listInvoices',
      );
  }
}
