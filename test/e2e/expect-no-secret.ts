import { expect } from 'chai';

/** Less what the characters after it may change. */
const base64 = (text: string) => Buffer.from(text).toString('base64').replace(/=+$/, '').slice(0, -2);

/** No secret of any kind, and no access token, in any writing that a careless program would give it. */
export function expectNoSecret(where: string, text: string): void {
  const canaries = ['canary-', 'access-', 'PRIVATE KEY', ...['waybill:canary-', 'anna:canary-', 'canary-'].map(base64)];
  for (const canary of canaries) {
    const at = text.indexOf(canary);
    expect(at, `${where}: …${text.slice(Math.max(0, at - 60), at + 60)}…`).to.equal(-1);
  }
}
