import { z } from 'zod';
import type { Secret } from '../../model/secret.js';
import { type Partly, type Report, requireSetting } from '../configuration-error.js';
import {
  choice,
  credentialHeaderName,
  decimal,
  group,
  httpAddress,
  isReadableOnTheWay,
  pemFile,
  secret,
  secretFile,
  text,
  textLike,
  variants,
} from './value-types.js';

const ownSettings = 'they have settings of their own';

const kind = <const K extends string>(name: K) =>
  z
    .literal(name)
    .describe(
      'How Waybill identifies itself. bearer: service.token as `Authorization: Bearer …`. apiKey: service.token in a header of your choice. oauth: access tokens by OAuth 2.0 client credentials. certificate: by the client certificate of service.tls alone.',
    );

export const credentialSettings = variants(
  'How the service recognises us.',
  z.discriminatedUnion('kind', [
    z.strictObject({ kind: kind('bearer') }),
    z.strictObject({
      kind: kind('apiKey'),
      header: credentialHeaderName.default('X-Api-Key').describe('Header that carries the key.'),
      // An HTTP token (RFC 9110, 5.6.2).
      scheme: textLike(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'one word, such as ApiKey')
        .optional()
        .describe('Word before the key, as in `Authorization: ApiKey …`. Absent: the key alone.'),
    }),
    z.strictObject({
      kind: kind('oauth'),
      tokenUrl: httpAddress('https://login.example.com/oauth2/token', ownSettings).describe(
        'Address that issues access tokens. http only on this machine or in a sandbox.',
      ),
      clientId: text.describe('Name under which the client is registered.'),
      clientSecret: secret
        .optional()
        .describe('Secret of the client. Only from the environment; prefer clientSecretFile.'),
      clientSecretFile: secretFile('the secret of the client', 'service-credential-client-secret'),
      authentication: choice(
        ['basic', 'post', 'certificate'],
        'How the client identifies itself when it asks for tokens. basic: in the header Authorization. post: in the body. certificate: by the client certificate of service.tls, without a secret.',
      ),
      scope: text.optional().describe('Scopes to ask for, separated by spaces.'),
      audience: text.optional().describe('Parameter `audience`, where the token server wants one.'),
      resource: text.optional().describe('Parameter `resource` (RFC 8707), where the token server wants one.'),
      refreshBeforeSeconds: decimal(0, 3600)
        .default(60)
        .describe('How long before its expiry a token is replaced; never more than half of its lifetime.'),
    }),
    z.strictObject({ kind: kind('certificate') }),
  ]),
  'bearer',
);

export const tlsSettings = group('Secure connections to the service and to the token server.', {
  caFile: pemFile('certificates of authorities to trust besides the well-known ones'),
  certificateFile: pemFile('the client certificate and its chain'),
  key: secret
    .optional()
    .describe('Private key of the client certificate, PEM. Only from the environment; prefer keyFile.'),
  keyFile: secretFile('the private key of the client certificate, PEM', 'service-tls-key'),
  passphrase: secret
    .optional()
    .describe('Passphrase of the private key. Only from the environment; prefer passphraseFile.'),
  passphraseFile: secretFile('the passphrase of the private key', 'service-tls-passphrase'),
  minVersion: choice(
    ['TLSv1.2', 'TLSv1.3'],
    'Oldest version of TLS to speak. A certificate without a trusted authority is never accepted.',
  ),
});

export const proxySettings = z
  .strictObject({
    url: httpAddress('http://proxy.example.com:3128', ownSettings).describe(
      'Address of the HTTP proxy. Every connection goes through it by CONNECT.',
    ),
    user: text.optional().describe('Account at the proxy. Absent: the proxy needs none.'),
    password: secret.optional().describe('Password of that account. Only from the environment; prefer passwordFile.'),
    passwordFile: secretFile('the password', 'service-proxy-password'),
  })
  .optional()
  .describe('The way out of a network that allows no other. Absent: connections are direct.');

export type CredentialSettings = z.output<typeof credentialSettings>;
export type OauthSettings = Extract<CredentialSettings, { kind: 'oauth' }>;

/** The settings that are checked together. */
type Relevant = Partly<{
  service: {
    credential: CredentialSettings;
    tls: z.output<typeof tlsSettings>;
    proxy: z.output<typeof proxySettings>;
    environment: string;
    token: Secret;
  };
}>;

/** The settings that the chosen kind of credential still needs, and those that contradict it. */
export function checkCredential({ service }: Relevant, report: Report): void {
  if (service === undefined) return;
  const { credential, tls, proxy, environment, token } = service;
  const kind = credential?.kind ?? 'bearer';
  if ((kind === 'bearer' || kind === 'apiKey') && token === undefined)
    report('service.tokenFile', `a ${kind === 'bearer' ? 'token' : 'key'} is required, but there is none`, {
      allowed: `a file that holds the ${kind === 'bearer' ? 'bearer token' : 'API key'}`,
      hint: 'set service.tokenFile, or WAYBILL_SERVICE_TOKEN, or give systemd the credential service-token',
    });
  let byCertificate = kind === 'certificate';
  if (credential?.kind === 'oauth') {
    byCertificate = credential.authentication === 'certificate';
    if (credential.clientSecret === undefined && !byCertificate)
      report('service.credential.clientSecretFile', 'the secret of the client is required, but there is none', {
        allowed: 'a file that holds it, unless service.credential.authentication is certificate',
        hint: 'set it, or WAYBILL_SERVICE_CREDENTIAL_CLIENT_SECRET, or give systemd the credential service-credential-client-secret',
      });
    const { tokenUrl } = credential;
    if (tokenUrl !== undefined && environment === 'production' && isReadableOnTheWay(tokenUrl))
      report('service.credential.tokenUrl', 'begins with http, so the secret would travel in the clear', {
        found: tokenUrl,
        allowed: 'https, unless it is on this machine or service.environment is sandbox',
      });
  }
  if (tls?.certificateFile !== undefined) {
    const why = 'the file with the private key of service.tls.certificateFile';
    requireSetting(tls.key, 'service.tls.keyFile', why, report);
  } else if (byCertificate || tls?.key !== undefined) {
    const why = byCertificate
      ? 'a PEM file, because service.credential is a certificate'
      : 'the certificate that belongs to the private key';
    requireSetting(undefined, 'service.tls.certificateFile', why, report);
  }
  if (proxy?.user !== undefined)
    requireSetting(proxy.password, 'service.proxy.passwordFile', 'a file that holds the password', report);
}
