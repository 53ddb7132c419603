import type { FastifyReply, FastifyRequest } from 'fastify';
import { WrongAction } from '../../operator/actions/action.js';
import { actionNames, actionOf } from '../../operator/actions/actions.js';
import { personalValues } from '../../operator/values/personal-data.js';
import { labelsOf } from '../../words/en/action-labels.js';
import { tell } from '../../words/words.js';
import { queryOf } from '../filters.js';
import { accessProblem, refuse } from '../guard.js';
import { ActionOutcome, ActionPreview, needsWord } from '../pages/action.js';
import { formOf } from '../sign-in.js';
import { type DeskTools, personOf } from '../tools.js';
import { deskContext, inputsIn, subjectIn, WrongForm } from './asked.js';

const gone = 'This preview is not kept any more (an hour, or until the daemon restarts). Go back, and look again.';
const longestReason = 500;

/** Decides what is asked for, keeps it, and shows it. Nothing is done. */
export async function previewAction(
  request: FastifyRequest,
  reply: FastifyReply,
  tools: DeskTools,
): Promise<FastifyReply> {
  const person = personOf(request);
  const query = queryOf(request);
  const name = actionNames.find((one) => one === query.get('action'));
  if (name === undefined) return refuse(reply, 400, 'There is no such action.');
  const action = actionOf(name);
  const problem = accessProblem(action.role, person);
  if (problem !== null) return refuse(reply, 403, problem);
  const context = deskContext(tools.parts.context);
  try {
    const preview = await action.preview(context, await subjectIn(context, action, query), inputsIn(action, query));
    const totals = (await preview.totals?.()) ?? null;
    const id = tools.actions.keep({ name, person: person.name, preview, totals });
    return reply.redirect(`${tools.base}act/${id}`, 303);
  } catch (error) {
    if (error instanceof WrongAction) return refuse(reply, 400, tell(error.fact));
    if (error instanceof WrongForm) return refuse(reply, 400, error.message);
    throw error;
  }
}

/** The preview of what was asked for, or what came of it. */
export async function showAction(
  request: FastifyRequest,
  reply: FastifyReply,
  tools: DeskTools,
): Promise<FastifyReply> {
  const person = personOf(request);
  const { id } = request.params as { id: string };
  const kept = tools.actions.find(id, person.name);
  if (kept === null) return refuse(reply, 404, gone);
  const { base, parts, time } = tools;
  const { store, settings } = parts.context;
  const { question, outcome } = labelsOf(kept.name);
  const query = queryOf(request);
  const content =
    kept.run === null ? (
      <ActionPreview
        {...{ base, id, person, kept, settings, time }}
        reasonIsMissing={query.has('reason')}
        wordIsMissing={query.has('unchecked')}
      />
    ) : (
      <ActionOutcome {...{ base, kept, time }} outcome={await kept.run} />
    );
  const personal = await store.read('look who is meant', (tx) => personalValues(tx, kept.preview.rows));
  return tools.page(request, reply, { title: kept.run === null ? question : outcome, content, personal });
}

/** Does what the preview showed, once, and leaves what has changed since alone. */
export async function carryOut(request: FastifyRequest, reply: FastifyReply, tools: DeskTools): Promise<FastifyReply> {
  const person = personOf(request);
  const { id } = request.params as { id: string };
  const kept = tools.actions.find(id, person.name);
  if (kept === null) return refuse(reply, 404, gone);
  const problem = accessProblem(actionOf(kept.name).role, person);
  if (problem !== null) return refuse(reply, 403, problem);
  const here = `${tools.base}act/${id}`;
  const reason = (formOf(request).get('reason') ?? '').trim().slice(0, longestReason);
  if (reason === '') return reply.redirect(`${here}?reason=missing`, 303);
  const insists = formOf(request).get('unchecked') === '1';
  if (needsWord(kept.preview) && !insists) return reply.redirect(`${here}?unchecked=missing`, 303);
  const context = deskContext({ ...tools.parts.context, actor: tools.actor(person) });
  kept.run ??= kept.preview.act(context, { reason, insists }).then((outcome) => ({ ...outcome, reason }));
  try {
    await kept.run;
  } catch (error) {
    // It can be tried again: what was done by then no longer matches what was shown, and is left alone.
    kept.run = null;
    throw error;
  }
  return reply.redirect(here, 303);
}
