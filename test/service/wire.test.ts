import { wireContract } from './wire-contract.js';
import { NockLab, SocketLab } from './wire-lab.js';

describe('the wire within Node (nock)', () => wireContract(() => new NockLab()));
describe('the wire over sockets', () => wireContract(() => new SocketLab()));
