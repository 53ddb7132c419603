import type { Credential, Proof } from './credential.js';

/** The connection itself shows who we are, by its client certificate; requests carry nothing. */
export class NoHeader implements Credential {
  readonly version = 0;

  async ready(): Promise<null> {
    return null;
  }

  proof(): Proof {
    return { headers: {}, version: 0 };
  }

  accepted(): void {}

  async renew(): Promise<boolean> {
    return false;
  }

  refused(): void {}

  look(): void {}

  /** There is nothing to change but the certificate, which belongs to the connections. */
  changedAtMs(): number {
    return 0;
  }
}
