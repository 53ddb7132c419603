/** The place of a test: its file below test/, and its name or a part of it. */
export interface Proof {
  file: string;
  test: string;
}

const secure = (test: string): Proof => ({ file: 'service/secure-connections.test.ts', test });
const credentials = (test: string): Proof => ({ file: 'service/credentials.test.ts', test });
const endpoints = (test: string): Proof => ({ file: 'outbound/deliver/profile-endpoints.test.ts', test });
const profile = (test: string): Proof => ({ file: 'outbound/deliver/profile.test.ts', test });
const pull = (test: string): Proof => ({ file: 'inbound/invoices/pull.test.ts', test });

const ownCertificate = secure('get in by it alone, its key under a passphrase');
const secretsGiven = secure('get in with key and passphrase from the environment');
const invoiceRead = endpoints('says where one invoice is read, and by which answers');
const orderRead = endpoints('says where one order is read, and by which answers');
const pages = pull('follows the names that the service gives to parameters and fields, and counts pages from 0');
const unsent = profile('parks what the service would refuse, unsent, and sends it when the rule has changed');
const keyInBody = profile('gets it with every create and every change, in the bytes that are on record');

/** Settings whose effect shows only with certificates, files or a store, and the test of each. */
export const provenElsewhere: Readonly<Record<string, Proof>> = {
  'service.environment': profile('belongs to one environment from the first time that the service is asked'),
  'service.sandboxUrl': { file: 'config/profile-checks.test.ts', test: 'is that of the environment in use' },
  'service.tokenFile': credentials('whose successor is refused as well is reported after two'),
  'service.concurrency': {
    file: 'service/rate-limit/concurrency-of.test.ts',
    test: 'is what is configured, whatever the limits',
  },
  'service.traceparent': {
    file: 'service/wire-contract.ts',
    test: 'gives each attempt a trace of its own where the settings ask for it',
  },
  'service.credential.clientSecretFile': credentials('says so when the client is refused, and tries its new secret'),
  'service.credential.refreshBeforeSeconds': credentials('renews as long before the end as it is told'),
  'service.tls.caFile': secure('are made when service.tls.caFile names it, and not otherwise'),
  'service.tls.certificateFile': ownCertificate,
  'service.tls.keyFile': ownCertificate,
  'service.tls.passphraseFile': ownCertificate,
  'service.tls.key': secretsGiven,
  'service.tls.passphrase': secretsGiven,
  'service.tls.minVersion': secure('do not go below service.tls.minVersion'),
  'service.proxy.url': secure('carry plain http as well'),
  'service.proxy.user': secure('name an account with a password from the environment'),
  'service.proxy.password': secure('name an account with a password from the environment'),
  'service.proxy.passwordFile': secure('name an account, and take its new password without a restart'),
  'service.idempotency.in': keyInBody,
  'service.idempotency.field': keyInBody,
  'service.idempotency.keptInRecord': {
    file: 'outbound/deliver/profile.test.ts',
    test: 'and keeps it in the record gets no key with a change',
  },
  'service.acknowledgement.orderCreatedAt': {
    file: 'outbound/deliver/decide-look-up.test.ts',
    test: 'other lines, the mark of a removal or an earlier date prove nothing, unless the key led to it',
  },
  'service.idempotency.lifetimeHours': endpoints('says how long a key is remembered'),
  'service.idempotency.replaysRefusals': {
    file: 'outbound/deliver/changes.test.ts',
    test: 'is tried again with a new key on a service that replays refusals',
  },
  'service.endpoints.listInvoices.path': endpoints('says where invoices are listed, and by which status'),
  'service.endpoints.listInvoices.successStatus': endpoints('says where invoices are listed, and by which status'),
  'service.endpoints.readInvoice.path': invoiceRead,
  'service.endpoints.readInvoice.successStatus': invoiceRead,
  'service.endpoints.readInvoice.absentStatus': invoiceRead,
  'service.endpoints.readInvoice.field': invoiceRead,
  'service.endpoints.readOrder.path': orderRead,
  'service.endpoints.readOrder.successStatus': orderRead,
  'service.endpoints.readOrder.absentStatus': orderRead,
  'service.maxProcessingSeconds': {
    file: 'outbound/deliver/still-working.test.ts',
    test: 'after two look-ups that agree',
  },
  'service.endpoints.lookUpCustomer.absenceProves': {
    file: 'outbound/deliver/look-up.test.ts',
    test: 'what it does not find',
  },
  'service.endpoints.lookUpOrder.absenceProves': {
    file: 'outbound/deliver/decide-look-up.test.ts',
    test: 'absence proves nothing, unless the profile says so, and never against a conflict',
  },
  'service.adoption.ownFields': {
    file: 'outbound/adoption/adopt-customers.test.ts',
    test: 'where a PUT would clear what',
  },
  'service.states.customer': endpoints('names the states of a customer that are known'),
  'service.states.order': profile('warns once of a state that it does not name, keeps it'),
  'service.fields.customer': unsent,
  'service.fields.order': unsent,
  'service.fields.item': {
    file: 'outbound/capture/record-problem.test.ts',
    test: 'is a number of lines, and each line by itself',
  },
  'invoices.paging.page': pages,
  'invoices.paging.limit': pages,
  'invoices.paging.status': pages,
  'invoices.paging.customer': endpoints('names the parameter of the customer'),
  'invoices.paging.firstPage': pages,
  'invoices.paging.query': pages,
  'invoices.paging.fields.invoices': pages,
  'invoices.paging.fields.total': pages,
  'invoices.paging.fields.page': pages,
};

/** Each kind of credential against a service that asks for it, over real sockets; its rotation: e2e/credentials.test.ts. */
export const credentialProofs: Readonly<Record<string, Proof[]>> = {
  bearer: [credentials('that is refused and has no successor is reported after one request')],
  apiKey: [credentials(': is sent, and when its file was replaced the new one is')],
  oauth: [credentials('expired with 16 requests in flight: one refresh, each record once')],
  certificate: [ownCertificate, secure('do not get in without it')],
};
