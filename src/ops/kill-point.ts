import { writeSync } from 'node:fs';

/** The moments before and after each durable step, by name. The torture run kills or freezes the process in each of them. */
export const killPoints = [
  'before-capture-commit',
  'after-capture-commit',
  'before-removal-commit',
  'after-removal-commit',
  'before-pass-end',
  'after-pass-end',
  'before-cursor-commit',
  'after-cursor-commit',
  'before-claim-commit',
  'after-claim-commit',
  'before-send',
  'after-answer',
  'before-settle-commit',
  'after-settle-commit',
  'before-takeover',
  'after-lease',
  'after-takeover',
  'before-lease-release',
  'before-pull-page',
  'after-pull-page',
  'before-pull-swap',
  'after-pull-swap',
] as const;
/** The same in the commands of an operator. */
export const operatorKillPoints = [
  'before-confirm-commit',
  'after-confirm-commit',
  'before-recover-commit',
  'after-recover-commit',
  'before-resolve-commit',
  'after-resolve-commit',
] as const;
/** The same in commands that no torture run gives. */
const otherKillPoints = [
  'before-adopt-commit',
  'after-adopt-commit',
  'before-reconcile-commit',
  'after-reconcile-commit',
  'after-repair-commit',
] as const;
export type KillPoint =
  | (typeof killPoints)[number]
  | (typeof operatorKillPoints)[number]
  | (typeof otherKillPoints)[number];

/** `NAME`, `NAME:NTH` or `NAME:NTH:SIGSTOP`. Read once. Not a setting: it is for tests alone. */
const [wanted = '', nth = '1', signal = 'SIGKILL'] = (process.env.TORTURE_KILL_POINT ?? '').split(':');
let passed = 0;

/** Does nothing, unless TORTURE_KILL_POINT names this point: then the process ends here, as if the power had gone. */
export function killPoint(name: KillPoint): void {
  if (wanted !== name || ++passed !== Number(nth)) return;
  // Written at once: what goes through a stream would die with us.
  writeSync(2, `reached ${name} ${signal}\n`);
  process.kill(process.pid, signal);
}
