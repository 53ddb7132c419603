import type { FastifyReply, FastifyRequest } from 'fastify';
import { personalValues } from '../../operator/values/personal-data.js';
import { queryOf } from '../filters.js';
import { refuse } from '../guard.js';
import { ActionOutcome, ActionPreview, needsWord } from '../pages/action.js';
import { formOf } from '../sign-in.js';
import { type DeskTools, personOf } from '../tools.js';
import { prepare, WrongAction } from './prepare.js';
import { prepareForget } from './prepare-forget.js';
import { prepareInvoices } from './prepare-invoices.js';
import { prepareReconcile } from './prepare-reconcile.js';

const gone = 'This preview is not kept any more (an hour, or until the daemon restarts). Go back, and look again.';
const longestReason = 500;

/** Decides what is asked for, keeps it, and shows it. Nothing is done. */
export async function prepareAction(
  request: FastifyRequest,
  reply: FastifyReply,
  tools: DeskTools,
): Promise<FastifyReply> {
  try {
    const query = queryOf(request);
    const prepared = await decideBy(query.get('action') ?? '')(tools.parts.context, personOf(request).name, query);
    return reply.redirect(`${tools.base}act/${tools.actions.keep(prepared)}`, 303);
  } catch (error) {
    if (error instanceof WrongAction) return refuse(reply, 400, error.message);
    throw error;
  }
}

/** What decides on an action; on most of them, what decides on messages. */
function decideBy(action: string): typeof prepare {
  if (action.startsWith('reconcile')) return prepareReconcile;
  if (action === 'held_invoices') return prepareInvoices;
  return action === 'forget' ? prepareForget : prepare;
}

/** What was asked for: its preview, or what came of it. */
export async function showAction(
  request: FastifyRequest,
  reply: FastifyReply,
  tools: DeskTools,
): Promise<FastifyReply> {
  const person = personOf(request);
  const { id } = request.params as { id: string };
  const kept = tools.actions.find(id, person.name);
  if (kept === null) return refuse(reply, 404, gone);
  const { base, parts } = tools;
  const { settings } = parts.context;
  const { prepared, run } = kept;
  const title = run === null ? prepared.question : prepared.outcomeInWords;
  const content =
    run === null ? (
      <ActionPreview
        {...{ base, id, person, prepared, settings }}
        reasonIsMissing={queryOf(request).has('reason')}
        wordIsMissing={queryOf(request).has('unchecked')}
      />
    ) : (
      <ActionOutcome base={base} prepared={prepared} outcome={await run} />
    );
  const { store } = parts.context;
  const personal = await store.read('look who is meant', (tx) => personalValues(tx, prepared.rows));
  return tools.page(request, reply, { title, content, personal });
}

/** Does what the preview showed, once, and leaves what has changed since alone. */
export async function carryOut(request: FastifyRequest, reply: FastifyReply, tools: DeskTools): Promise<FastifyReply> {
  const person = personOf(request);
  const { id } = request.params as { id: string };
  const kept = tools.actions.find(id, person.name);
  if (kept === null) return refuse(reply, 404, gone);
  const here = `${tools.base}act/${id}`;
  const reason = (formOf(request).get('reason') ?? '').trim().slice(0, longestReason);
  if (reason === '') return reply.redirect(`${here}?reason=missing`, 303);
  const isUnchecked = formOf(request).get('unchecked') === '1';
  if (needsWord(kept.prepared) && !isUnchecked) return reply.redirect(`${here}?unchecked=missing`, 303);
  const context = { ...tools.parts.context, actor: tools.actor(person) };
  kept.run ??= kept.prepared.act(context, reason, isUnchecked);
  try {
    await kept.run;
  } catch (error) {
    // It can be tried again: what was done by then no longer matches what was shown, and is left alone.
    kept.run = null;
    throw error;
  }
  return reply.redirect(here, 303);
}
