import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import { hashPassword, hashToken, type Role, roles, userName } from '../../desk/people.js';
import { describeCommand, UsageError } from '../command.js';
import { askSecret, write, writeError } from '../terminal/streams.js';

const shortestPassword = 12;
const longestPassword = 200;

interface UserOptions {
  role: Role;
  proxy?: boolean;
}

export function deskCommand(): Command {
  const add = (command: Command) =>
    command
      .argument('<name>', 'letters, digits and ._@+-')
      .addOption(new Option('--role <role>', 'read: look; act: also change').choices(roles).makeOptionMandatory());
  const user = add(
    describeCommand(
      'user',
      'Print the line that lets a person sign in. The password is asked for.',
      'waybill desk user anna --role act',
    ),
  )
    .option('--proxy', 'the reverse proxy signs the person in; there is no password')
    .action(printUser);
  const token = add(
    describeCommand(
      'token',
      'Print a token for a script, and the line that admits it.',
      'waybill desk token prometheus --role read',
    ),
  ).action(printToken);
  return describeCommand(
    'desk',
    'Make lines for the users file of the desk (desk.usersFile).',
    'waybill desk user anna --role act',
  )
    .addCommand(user)
    .addCommand(token);
}

async function printUser(name: string, { role, proxy }: UserOptions): Promise<void> {
  checkName(name);
  write(`${name}:${role}:${proxy ? 'proxy' : await hashPassword(await askPassword())}\n`);
}

async function printToken(name: string, { role }: UserOptions): Promise<void> {
  checkName(name);
  const token = randomBytes(32).toString('base64url');
  // The token is shown once; the file gets its hash alone, also where stdout is appended to it.
  writeError(`The token, which is shown this once: ${token}`);
  write(`${name}:${role}:${hashToken(token)}\n`);
}

function checkName(name: string): void {
  if (!userName.test(name)) throw new UsageError(`"${name}" is no name: up to 64 letters, digits and ._@+-`);
}

/** Typed twice, or the one line of a pipe. Never an argument, which every account of the machine can read. */
async function askPassword(): Promise<string> {
  const password = process.stdin.isTTY ? await askSecret('Password:') : await onlyLine();
  if (password.length < shortestPassword || password.length > longestPassword)
    throw new UsageError(
      `The password has ${password.length} characters: take ${shortestPassword} to ${longestPassword}.`,
    );
  if (process.stdin.isTTY && (await askSecret('Once more:')) !== password)
    throw new UsageError('These were two different passwords.');
  return password;
}

async function onlyLine(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk;
    if (text.length > 1_000) break;
  }
  return text.replace(/\r?\n$/, '');
}
