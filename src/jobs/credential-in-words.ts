import type { ServiceSettings } from '../config/service-settings.js';

/** Which kind of credential is in use, for those who look: never what it is. */
export function credentialInWords(service: Pick<ServiceSettings, 'credential' | 'tls' | 'proxy'>): string {
  const { tls, proxy } = service;
  const kind = kindInWords(service.credential);
  const certificate = service.credential.kind !== 'certificate' && tls.certificateFile ? ', client certificate' : '';
  return `${kind}${certificate}${proxy ? `, through ${proxy.url}` : ''}`;
}

function kindInWords(credential: ServiceSettings['credential']): string {
  switch (credential.kind) {
    case 'bearer':
      return 'bearer token';
    case 'apiKey':
      return `API key in ${credential.header}${credential.scheme ? ` after ${credential.scheme}` : ''}`;
    case 'oauth':
      return `OAuth 2.0 client ${credential.clientId} of ${credential.tokenUrl}`;
    case 'certificate':
      return 'client certificate';
  }
}
