import { createHash, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { promisify } from 'node:util';

/** `read` looks; `act` also changes. */
export const roles = ['read', 'act'] as const;
export type Role = (typeof roles)[number];

/** A person or script with a line in the users file. */
export interface User {
  name: string;
  role: Role;
  /** `scrypt$…` of a password, `sha256$…` of a token, or `proxy`: a proxy signs the person in. */
  proof: string;
}

/** The person who asks. */
export interface Person {
  name: string;
  role: Role;
  /** The token that its forms send; null: a script, whose token no other site can send. */
  csrf: string | null;
}

export const userName = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/;

/** 32 MiB and about 80 ms a try: OWASP's second choice, so that a few tries at once do not weigh on a small server. */
const cost = { N: 32_768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 } satisfies ScryptOptions;
const keyBytes = 32;
const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password.normalize('NFKC'), salt, keyBytes, cost);
  return ['scrypt', cost.N, salt.toString('base64url'), key.toString('base64url')].join('$');
}

export function hashToken(token: string): string {
  return `sha256$${createHash('sha256').update(token).digest('base64url')}`;
}

/** As long to compute as any other, so that the time of an answer does not tell which names exist. */
const noPerson = `scrypt$${cost.N}$${Buffer.alloc(16).toString('base64url')}$${Buffer.alloc(keyBytes).toString('base64url')}`;

async function isPassword(password: string, proof: string): Promise<boolean> {
  const [, , salt = '', key = ''] = proof.split('$');
  const expected = Buffer.from(key, 'base64url');
  const found = await derive(password.normalize('NFKC'), Buffer.from(salt, 'base64url'), keyBytes, cost);
  return isSame(found, expected);
}

/** Compares in a time that does not tell where they differ. */
export function isSame(a: string | Buffer, b: string | Buffer): boolean {
  const [x, y] = [a, b].map((value) => createHash('sha256').update(value).digest()) as [Buffer, Buffer];
  return timingSafeEqual(x, y);
}

// One cost for all: another would take another time, which tells that the name exists, or more memory than a try may
// have.
const proofs = /^(scrypt\$32768\$[\w-]{22}\$[\w-]{43}|sha256\$[\w-]{43}|proxy)$/;

/** The users of a file: `name:role:proof` a line; blank lines and lines from `#` are left out. Pure. */
export function parseUsers(text: string): { users: Map<string, User>; wrongLines: number[] } {
  const users = new Map<string, User>();
  const wrongLines: number[] = [];
  const seen = new Set<string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const [name = '', role, proof = '', ...more] = line.trim().split(':');
    const known = roles.find((one) => one === role);
    const isRight = userName.test(name) && known !== undefined && proofs.test(proof) && more.length === 0;
    // Two lines of one name: neither is believed, because they may name two roles.
    if (!isRight || seen.has(name)) wrongLines.push(index + 1);
    if (seen.has(name)) users.delete(name);
    else if (isRight) users.set(name, { name, role: known, proof });
    seen.add(name);
  }
  return { users, wrongLines };
}

/** The users file, read again when it changes: who is taken out is out at the next request. */
export class People {
  #users = new Map<string, User>();
  #stamp = '';

  /** @param warn is told of lines that are left out, and of a file that can't be read, which keeps everyone out */
  constructor(
    private readonly file: string,
    private readonly warn: (message: string, facts: object) => void,
  ) {}

  find(name: string): User | null {
    this.#refresh();
    return this.#users.get(name) ?? null;
  }

  findByToken(token: string): User | null {
    this.#refresh();
    const proof = hashToken(token);
    for (const user of this.#users.values()) if (isSame(user.proof, proof)) return user;
    return null;
  }

  /** The user with this password, or null. It takes as long for a name that does not exist. */
  async signIn(name: string, password: string): Promise<User | null> {
    const user = this.find(name);
    const proof = user?.proof.startsWith('scrypt$') ? user.proof : noPerson;
    return (await isPassword(password, proof)) && proof !== noPerson ? user : null;
  }

  #refresh(): void {
    try {
      const { mtimeMs, size, ino } = statSync(this.file);
      const stamp = `${mtimeMs} ${size} ${ino}`;
      if (stamp === this.#stamp) return;
      const { users, wrongLines } = parseUsers(readFileSync(this.file, 'utf8'));
      this.#users = users;
      this.#stamp = stamp;
      if (wrongLines.length > 0)
        this.warn('Lines of the users file make no sense, so they let no person in', { wrongLines });
    } catch (error) {
      if (this.#stamp !== 'unreadable')
        this.warn('The users file cannot be read, so no person can use the desk', { error: (error as Error).message });
      this.#users = new Map();
      this.#stamp = 'unreadable';
    }
  }
}
