import { routes } from '../../../src/desk/routes.js';
import { operatorActions } from '../../../src/operator/actions/decide-message-action.js';
import { values } from './command-operations.js';
import { deskPort, deskToken } from './desk-user.js';
import type { Dice } from './dice.js';
import { type Answer, ask } from './network.js';
import type { Operation, Operations } from './operation.js';
import { judge, type Listed, listed, type Verdict } from './operator-operations.js';
import type { World } from './world.js';

/** Pages that no history opens, each with the reason. */
const pagesLeftOut: Readonly<Record<string, string>> = {
  live: 'never ends',
  'sign-in': 'whoever asks has a token',
  'act/:id': 'is opened with each action',
  act: 'is opened with each action',
};

/** @returns null when nobody listens */
async function fetchPage(world: World, method: 'GET' | 'POST', path: string, form?: object): Promise<Answer | null> {
  const type: Record<string, string> = form ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
  const headers = { host: `127.0.0.1:${deskPort}`, authorization: `Bearer ${deskToken}`, accept: 'text/html', ...type };
  const body = form ? new URLSearchParams(form as Record<string, string>).toString() : '';
  const answer = await ask(deskPort, { method, path: `/${path}`, headers, body });
  const said = answer && /[ >](undefined|NaN|\[object Object\])[ .,<]/.exec(answer.body);
  if (said) world.wrong.push(`words: the page ${path} of the desk says ${said[0]}`);
  if (answer?.status === 500) world.wrong.push(`bug: ${method} ${path} of the desk ends with 500`);
  return answer;
}

/** Opens the preview of an action, waits, and carries it out. @returns what happened, for the story */
async function act(world: World, query: Record<string, string>, waitMs = 0): Promise<string | null> {
  const asked = new URLSearchParams(query).toString();
  const shown = await fetchPage(world, 'GET', `act?${asked}`);
  if (shown === null) return null;
  const what = `at the desk, somebody asks for ${asked}`;
  if (shown.status !== 303) return `${what} (${shown.status})`;
  const place = String(shown.location).slice(1);
  await fetchPage(world, 'GET', place);
  if (waitMs > 0) await world.pass(waitMs);
  const done = await fetchPage(world, 'POST', place, { reason: 'looked at it', unchecked: '1' });
  await fetchPage(world, 'GET', place);
  return `${what}, and does it${waitMs > 0 ? ` ${waitMs / 1000} s later` : ''} (${done?.status ?? 'nobody answers'})`;
}

/** The daemon serves the desk. */
async function isOpen(world: World): Promise<boolean> {
  if (!world.personality.hasDesk) return false;
  if (!world.daemon?.isThere) {
    world.startDaemon();
    await world.pass(5_000);
  }
  return world.daemon?.state === 'running';
}

const recordOf = ({ entity, sourceKey }: Listed) => ({ entity, record: encodeURIComponent(sourceKey) });

/** Which action of the desk says what a person found out. */
const actionOf: Readonly<Record<Exclude<Verdict, 'rekey'>, string>> = {
  confirm: 'held_send',
  discard: 'discard',
  delivered: 'delivered',
  'not delivered': 'not_delivered',
};

async function sayTruthfully(world: World, dice: Dice, action: string): Promise<string | null> {
  if (!(await isOpen(world))) return null;
  const open = ((await listed(world)) ?? []).filter(({ state }) => state === 'parked' || state === 'in_doubt');
  const fitting: { message: Listed; serviceId: string | null }[] = [];
  for (const message of open) {
    const verdict = await judge(world, message);
    if (verdict && verdict.is !== 'rekey' && actionOf[verdict.is] === action)
      fitting.push({ message, serviceId: verdict.serviceId });
  }
  const found = dice.pickOrNull(fitting);
  if (!found) return null;
  const { message, serviceId } = found;
  if (action === 'discard') world.discarded.add(`${message.entity} ${message.sourceKey}`);
  world.peopleSpoke = true;
  return act(world, { action, ...recordOf(message), ...(serviceId ? { serviceId } : {}) });
}

/** Actions that need no look at the service, because nobody claims anything by them. */
const harmless = ['retry', 'look_up', 'reconcile', 'held_invoices'];

async function actHarmlessly(world: World, dice: Dice, action: string): Promise<string | null> {
  if (!(await isOpen(world))) return null;
  // Meanwhile the world goes on: a preview may be stale when it is carried out.
  const waitMs = dice.pick([0, 0, 1_000, 60_000]);
  if (action === 'reconcile') {
    const subject = dice.pick(['orders', 'customers', 'invoices']);
    return act(world, { action, subject, again: '1' }, waitMs);
  }
  const message = dice.pickOrNull((await listed(world)) ?? []);
  if (dice.chance(0.5) || !message) return act(world, { action, state: 'parked' }, waitMs);
  return act(world, { action, ...recordOf(message) }, waitMs);
}

const page = (path: string): Operation => {
  return async (world, dice) => {
    if (!(await isOpen(world))) return null;
    const key = encodeURIComponent((values.key as (world: World, dice: Dice) => string)(world, dice));
    const answer = await fetchPage(world, 'GET', path.replace(/:\w+/, key));
    return answer && `somebody opens the page "${path}" of the desk (${answer.status})`;
  };
};

/** Actions that the product's own table has, and those that confirm what is held. */
const actions = [...new Set([...operatorActions, ...harmless, ...Object.values(actionOf)])];

/** The deeds of people at the desk, by the requests that their browser would make. */
export const deskOperations: Operations = {
  ...Object.fromEntries(
    routes
      .filter(({ method, path }) => method === 'GET' && pagesLeftOut[path] === undefined && !/\.(js|css)$/.test(path))
      .map(({ path }) => [`the desk: ${path || 'overview'}`, page(path)]),
  ),
  ...Object.fromEntries(
    actions.map((action) => [
      `at the desk: ${action}`,
      (world: World, dice: Dice) =>
        harmless.includes(action) ? actHarmlessly(world, dice, action) : sayTruthfully(world, dice, action),
    ]),
  ),
};

/** Entries of the product's own tables that nobody has thought of. */
export function deskAmiss(): string[] {
  const said = [...harmless, ...Object.values(actionOf)];
  const paths = routes.map(({ path }) => path);
  return [
    ...operatorActions.filter((action) => !said.includes(action)).map((action) => `the desk's action ${action}`),
    ...Object.keys(pagesLeftOut).filter((path) => !paths.includes(path)),
  ];
}
