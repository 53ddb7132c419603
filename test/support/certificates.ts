import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensure } from './needed-programs.js';

export interface Certificate {
  certFile: string;
  keyFile: string;
  cert: string;
  key: string;
}

/** An authority of a test's own. Everything is made when it is needed, so that no certificate in the repository runs out. */
export class Authority {
  readonly certFile: string;
  readonly cert: string;
  readonly #folder: string;
  readonly #keyFile: string;

  constructor(folder: string, name = 'authority') {
    ensure('openssl');
    mkdirSync(folder, { recursive: true });
    this.#folder = folder;
    this.#keyFile = join(folder, `${name}.key`);
    this.certFile = join(folder, `${name}.pem`);
    const subject = ['-subj', `/CN=${name}`, '-addext', 'basicConstraints=critical,CA:TRUE'];
    openssl(['req', '-x509', ...freshKey, '-days', '2', ...subject, '-keyout', this.#keyFile, '-out', this.certFile]);
    this.cert = readFileSync(this.certFile, 'utf8');
  }

  /** A certificate for this machine or for a client, which this authority vouches for for so many days from now. */
  issue(name: string, passphrase?: string, days = 2): Certificate {
    const at = (end: string) => join(this.#folder, `${name}.${end}`);
    openssl(['req', ...freshKey, '-subj', `/CN=${name}`, '-keyout', at('key'), '-out', at('csr')]);
    writeFileSync(at('ext'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
    const by = ['-CA', this.certFile, '-CAkey', this.#keyFile, '-CAcreateserial', '-days', String(days)];
    openssl(['x509', '-req', '-in', at('csr'), ...by, '-extfile', at('ext'), '-out', at('pem')]);
    if (passphrase !== undefined) {
      openssl(['pkey', '-in', at('key'), '-aes256', '-passout', `pass:${passphrase}`, '-out', at('locked')]);
      renameSync(at('locked'), at('key'));
    }
    const [certFile, keyFile] = [at('pem'), at('key')];
    return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  }
}

const freshKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

function openssl(programArguments: string[]): void {
  execFileSync('openssl', programArguments, { stdio: 'pipe' });
}
