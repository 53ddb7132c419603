import { writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Desk, startDesk } from '../../src/desk/desk.js';
import { hashPassword, hashToken } from '../../src/desk/people.js';
import { readErpNow } from '../../src/operator/values/record-values.js';
import type { Lab } from '../support/jobs/job-lab.js';

export const password = 'correct horse battery';
export const tokens = { read: 'token-that-reads-0123456789', act: 'token-that-acts-0123456789' };
export const proxySecret = 'proxy-secret-0123456789';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

interface Asked {
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS';
  headers?: { [name: string]: string };
  /** Fields of a form. */
  form?: { [name: string]: string };
}

/** One request on a connection of its own, with just these headers. */
export function ask(url: string, { method = 'GET', headers = {}, form }: Asked = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const type = form ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
    const sent = request(
      url,
      { method, agent: false, headers: { accept: 'text/html', ...type, ...headers } },
      (got) => {
        let body = '';
        got.setEncoding('utf8').on('data', (part) => {
          body += part;
        });
        got.on('end', () => resolve({ status: got.statusCode ?? 0, headers: got.headers, body }));
      },
    );
    sent.on('error', reject);
    sent.end(form && new URLSearchParams(form).toString());
  });
}

/** Guesses a password so many times on one connection, without waiting for answers. @returns how often each status came */
export function tryToSignIn(url: string, tries: number): Promise<Map<number, number>> {
  const { host, hostname, port, pathname, origin } = new URL(url);
  const body = 'name=anna&password=guess';
  const head = [
    `POST ${pathname}sign-in HTTP/1.1`,
    `Host: ${host}`,
    `Origin: ${origin}`,
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`,
  ].join('\r\n');
  const one = `${head}\r\n\r\n${body}`;
  const last = `${head}\r\nConnection: close\r\n\r\n${body}`;
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.write(one.repeat(tries - 1) + last));
    socket.setEncoding('latin1').on('data', (part) => {
      text += part;
    });
    socket.on('error', reject).on('end', () => {
      const counts = new Map<number, number>();
      for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3})/g))
        counts.set(Number(status), (counts.get(Number(status)) ?? 0) + 1);
      resolve(counts);
    });
  });
}

/** A browser as far as the desk can tell: cookies, and what browsers say of where a request comes from. */
export class Browser {
  readonly cookies = new Map<string, string>();

  constructor(
    readonly url: string,
    private readonly more: { [name: string]: string } = {},
  ) {}

  get origin(): string {
    return new URL(this.url).origin;
  }

  get headers(): { [name: string]: string } {
    return { cookie: [...this.cookies].map((pair) => pair.join('=')).join('; '), ...this.more };
  }

  async open(path = '', headers = {}): Promise<Answer> {
    return this.#keep(await ask(this.url + path, { headers: { ...this.headers, ...headers } }));
  }

  async post(path: string, form: { [name: string]: string }, headers = {}): Promise<Answer> {
    const own = { origin: this.origin, 'sec-fetch-site': 'same-origin', ...this.headers };
    return this.#keep(await ask(this.url + path, { method: 'POST', form, headers: { ...own, ...headers } }));
  }

  /** Signs in. @returns the CSRF token of its pages */
  async signIn(name: string): Promise<string> {
    const answer = await this.post('sign-in', { name, password });
    if (answer.status !== 303) throw new Error(`Not signed in: ${answer.status} ${answer.body}`);
    const page = await this.open();
    return /name="csrf" value="([\w-]+)"/.exec(page.body)?.[1] ?? '';
  }

  #keep(answer: Answer): Answer {
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }
}

let hashed: Promise<string> | null = null;

export async function writeUsers(folder: string, more = ''): Promise<string> {
  hashed ??= hashPassword(password);
  const file = join(folder, 'desk-users');
  const proof = await hashed;
  const lines = [
    '# name:role:proof',
    `anna:act:${proof}`,
    `rita:read:${proof}`,
    'paul@example.com:read:proxy',
    `prometheus:read:${hashToken(tokens.read)}`,
    `script:act:${hashToken(tokens.act)}`,
    more,
  ];
  writeFileSync(file, lines.join('\n'), { mode: 0o600 });
  return file;
}

/** The settings of a desk on any free port. */
export async function deskSettings(folder: string, more = {}): Promise<{ desk: object }> {
  return { desk: { enabled: true, port: 0, usersFile: await writeUsers(folder), ...more } };
}

export function openDesk({ context, reader }: Lab, secrets: readonly string[] = []): Promise<Desk> {
  return startDesk({
    context,
    erpNow: (...record) => readErpNow(reader, ...record),
    erpIdentity: reader.identity(),
    secrets,
    originOf: () => undefined,
  });
}
