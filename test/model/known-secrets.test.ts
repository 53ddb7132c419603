import { expect } from 'chai';
import { KnownSecrets } from '../../src/model/secret.js';

describe('known secrets', () => {
  it('are those of the settings for ever, and the latest of the others', () => {
    const secrets = new KnownSecrets(['password']);
    const { all } = secrets;
    for (let i = 0; i < 100; i++) secrets.add(`token-${i}`);
    expect(all).to.have.length(21);
    expect(all).to.include.members(['password', 'token-80', 'token-99']);
    expect(all).to.not.include('token-79');
  });

  it('are each known once, and the one that is used again is the latest', () => {
    const secrets = new KnownSecrets(['password']);
    for (const secret of ['password', 'a', 'b', 'a', '']) secrets.add(secret);
    expect(secrets.all).to.deep.equal(['password', 'b', 'a']);
  });
});
