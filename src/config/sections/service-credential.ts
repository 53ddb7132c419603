import { z } from 'zod';
import { credentialHeaderName, secret } from './value-types.js';

const file = (meaning: string) => z.string().min(1).optional().describe(meaning);

const address = (error: string) =>
  z
    .url({ protocol: /^https?$/, error, abort: true })
    .refine((given) => new URL(given).username === '' && new URL(given).password === '', {
      error: 'holds a user name or password, which have settings of their own',
    });

const kind = <const K extends string>(name: K) =>
  z
    .literal(name)
    .describe(
      'How we show who we are. bearer: service.token as `Authorization: Bearer …`. apiKey: service.token in a header of your choice. oauth: access tokens by OAuth 2.0 client credentials. certificate: by the client certificate of service.tls alone.',
    );

/** An HTTP token (RFC 9110, 5.6.2), such as `ApiKey`. */
const scheme = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'not a word that a header may begin with')
  .meta({ allowed: 'one word, such as ApiKey' });

export const credentialSettings = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: kind('bearer') }),
    z.strictObject({
      kind: kind('apiKey'),
      header: credentialHeaderName.default('X-Api-Key').describe('Header that carries the key.'),
      scheme: scheme
        .optional()
        .describe('Word before the key, as in `Authorization: ApiKey …`. Absent: the key alone.'),
    }),
    z.strictObject({
      kind: kind('oauth'),
      tokenUrl: address('not an address that begins with https:// (or http://)')
        .describe('Address that gives access tokens. http only on this machine or in a sandbox.')
        .meta({ allowed: 'an address such as https://login.example.com/oauth2/token', mayHoldSecret: true }),
      clientId: z.string().min(1).describe('Name under which the client is registered.'),
      clientSecret: secret
        .optional()
        .describe('Secret of the client. Only from the environment; prefer clientSecretFile.'),
      clientSecretFile: file(
        'File that holds the secret of the client, relative to the configuration folder; credential `service-credential-client-secret` under systemd.',
      ),
      authentication: z
        .enum(['basic', 'post', 'certificate'])
        .default('basic')
        .describe(
          'How the client shows who it is where it gets tokens. basic: in the header Authorization. post: in the body. certificate: by the client certificate of service.tls, without a secret.',
        ),
      scope: z.string().min(1).optional().describe('Scopes to ask for, separated by spaces.'),
      audience: z.string().min(1).optional().describe('Parameter `audience`, for those who ask for it.'),
      resource: z.string().min(1).optional().describe('Parameter `resource` (RFC 8707), for those who ask for it.'),
      refreshBeforeSeconds: z
        .number()
        .min(0)
        .max(3600)
        .default(60)
        .describe('How long before it expires a token is replaced; never more than half of its life.'),
    }),
    z.strictObject({ kind: kind('certificate') }),
  ])
  .describe('How the service recognises us.');

export const tlsSettings = z
  .strictObject({
    caFile: file(
      'PEM file with certificates of authorities that are trusted besides the well-known ones, relative to the configuration folder.',
    ),
    certificateFile: file('PEM file with the client certificate and its chain, relative to the configuration folder.'),
    key: secret
      .optional()
      .describe('Private key of the client certificate, PEM. From the environment; prefer keyFile.'),
    keyFile: file(
      'PEM file with the private key of the client certificate, relative to the configuration folder; credential `service-tls-key` under systemd.',
    ),
    passphrase: secret
      .optional()
      .describe('Passphrase of the private key. Only from the environment; prefer passphraseFile.'),
    passphraseFile: file(
      'File that holds the passphrase of the private key, relative to the configuration folder; credential `service-tls-passphrase` under systemd.',
    ),
    minVersion: z
      .enum(['TLSv1.2', 'TLSv1.3'])
      .default('TLSv1.2')
      .describe('Oldest version of TLS that is spoken. A certificate that nobody vouches for is never accepted.'),
  })
  .describe('Secure connections to the service and to where tokens come from.');

export const proxySettings = z
  .strictObject({
    url: address('not an address such as http://proxy.example.com:3128')
      .describe('Address of the HTTP proxy. Every connection goes through it by CONNECT.')
      .meta({ allowed: 'an address such as http://proxy.example.com:3128', mayHoldSecret: true }),
    user: z.string().min(1).optional().describe('Account at the proxy. Absent: it asks for none.'),
    password: secret.optional().describe('Password of that account. Only from the environment; prefer passwordFile.'),
    passwordFile: file(
      'File that holds the password, relative to the configuration folder; credential `service-proxy-password` under systemd.',
    ),
  })
  .optional()
  .describe('The way out, where the network has no other. Absent: connections are direct.');

export type CredentialSettings = z.output<typeof credentialSettings>;
export type OauthSettings = Extract<CredentialSettings, { kind: 'oauth' }>;
export type TlsSettings = z.output<typeof tlsSettings>;
export type ProxySettings = z.output<typeof proxySettings>;
