import type { CredentialSettings } from '../config/credential-settings.js';

/** Where a person replaces the credential. */
export function credentialSetting(credential: CredentialSettings): string {
  switch (credential.kind) {
    case 'oauth':
      return credential.authentication === 'certificate'
        ? 'service.tls.certificateFile'
        : 'service.credential.clientSecretFile';
    case 'certificate':
      return 'service.tls.certificateFile';
    default:
      return 'service.tokenFile';
  }
}
