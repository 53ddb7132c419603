import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { expect } from 'chai';
import type { buildConnector } from 'undici';
import { passingInterimAnswers } from '../../../src/service/wire/wire-exchange.js';

const final = 'HTTP/1.1 201 Created\r\nContent-Length: 12\r\n\r\nHTTP/1.1 100';
const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX: ä\r\n\r\n';

describe('interim answers', () => {
  let socket: Duplex;
  beforeEach(() => {
    socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
    const connect = ((_options, callback) => callback(null, socket as Socket)) as buildConnector.connector;
    passingInterimAnswers(connect)({} as buildConnector.Options, () => undefined);
    socket.write('a request');
  });
  /** The reader's view of these pieces, each read as soon as it has come. */
  const readOf = (...pieces: string[]) =>
    pieces.map((piece) => {
      socket.push(Buffer.from(piece, 'latin1'));
      let text = '';
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) text += chunk.toString('latin1');
      return text;
    });

  it('are passed over wherever what comes is cut in two', () => {
    const all = interim + hints + interim + final;
    for (let at = 0; at <= all.length; at++) {
      expect(readOf(all.slice(0, at), all.slice(at)).join(''), String(at)).to.equal(final);
      socket.write('another request');
    }
  });

  it('are passed over byte by byte', () => {
    expect(readOf(...(hints + interim + final)).join('')).to.equal(final);
  });

  it('are no part of a body', () => {
    expect(readOf(final, interim)).to.deep.equal([final, interim]);
  });

  it('are kept no longer than a head may be', () => {
    const endless = `HTTP/1.1 100 Continue\r\nX: ${'x'.repeat(1_000)}`;
    const read = readOf(endless, ...Array.from({ length: 20 }, () => 'x'.repeat(1_000)));
    expect(read.findIndex((text) => text !== '')).to.equal(16);
    expect(read.join('')).to.have.length(endless.length + 20_000);
  });

  it('are not what changes the protocol, what is no HTTP, and what is final', () => {
    for (const other of ['HTTP/1.1 101 Switching Protocols\r\n\r\n', '220 mail.example 1\r\n', final]) {
      expect(readOf(other)).to.deep.equal([other]);
      socket.write('another request');
    }
  });
});
