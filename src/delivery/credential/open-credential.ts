import type { ServiceSettings } from '../../config/service-settings.js';
import type { KnownSecrets } from '../../model/known-secrets.js';
import type { Credential } from './credential.js';
import { NoHeader } from './no-header.js';
import { OauthCredential, type OauthCredentialOptions } from './oauth-credential.js';
import { StaticCredential } from './static-credential.js';

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
