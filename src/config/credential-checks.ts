import type { Partly, Report } from './cross-problem.js';
import { isLoopback } from './is-loopback.js';
import type { ServiceSettings } from './sections/service.js';

/** What is missing for the kind of credential that was chosen, or contradicts it. */
export function checkCredential(service: Partly<ServiceSettings>, report: Report): void {
  const { credential, tls, proxy, environment } = service;
  const kind = credential?.kind ?? 'bearer';
  if ((kind === 'bearer' || kind === 'apiKey') && service.token === undefined) {
    const what = kind === 'bearer' ? 'a token' : 'a key';
    report('service.tokenFile', `${what} is required, but there is none`, {
      allowed: `a file that holds the ${kind === 'bearer' ? 'bearer token' : 'API key'}`,
      hint: 'set service.tokenFile, or WAYBILL_SERVICE_TOKEN, or give systemd the credential service-token',
    });
  }
  if (credential?.kind === 'oauth') {
    if (credential.clientSecret === undefined && credential.authentication !== 'certificate')
      report('service.credential.clientSecretFile', 'the secret of the client is required, but there is none', {
        allowed: 'a file that holds it, unless service.credential.authentication is certificate',
        hint: 'set it, or WAYBILL_SERVICE_CREDENTIAL_CLIENT_SECRET, or give systemd the credential service-credential-client-secret',
      });
    const { tokenUrl } = credential;
    if (tokenUrl !== undefined && environment !== undefined) {
      const { protocol, hostname } = new URL(tokenUrl);
      if (protocol === 'http:' && environment !== 'sandbox' && !isLoopback(hostname))
        report('service.credential.tokenUrl', 'begins with http, so the secret would travel in the clear', {
          found: tokenUrl,
          allowed: 'https, unless it is on this machine or service.environment is sandbox',
        });
    }
  }
  const byCertificate =
    kind === 'certificate' || (credential?.kind === 'oauth' && credential.authentication === 'certificate');
  if (byCertificate && tls?.certificateFile === undefined)
    report('service.tls.certificateFile', 'required, but not set', {
      allowed: 'a PEM file, because service.credential is shown by certificate',
    });
  if (tls?.certificateFile !== undefined && tls.key === undefined)
    report('service.tls.keyFile', 'required, but not set', {
      allowed: 'the file with the private key of service.tls.certificateFile',
    });
  if (tls?.certificateFile === undefined && tls?.key !== undefined && !byCertificate)
    report('service.tls.certificateFile', 'required, but not set', {
      allowed: 'the certificate that belongs to the private key',
    });
  if (proxy?.user !== undefined && proxy.password === undefined)
    report('service.proxy.passwordFile', 'required, but not set', { allowed: 'a file that holds the password' });
}
