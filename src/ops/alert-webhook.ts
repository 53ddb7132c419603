import { harmlessLine, quotedWhereSecret, redact } from '../model/redact.js';

interface AlertWebhookOptions {
  /** Often a secret itself: it is all that a chat asks for. */
  url: string;
  timeoutMs: number;
  secrets: readonly string[];
}

/**
 * Posts a notice as JSON, with its message once more as `text`, which chats show.
 * @throws Error when the address can't be reached, takes too long, or answers anything but 2xx; it names the host alone
 */
export async function postAlert(
  { url, timeoutMs, secrets }: AlertWebhookOptions,
  notice: { message: string; state: string; installation: string },
  signal?: AbortSignal,
): Promise<void> {
  const text = `${notice.state === 'over' ? 'Over: ' : ''}${notice.message} (${notice.installation})`;
  // A chat shows each text to people, so none may hold what hides or turns it.
  const json = JSON.stringify({ ...notice, text }, (_name, part) =>
    typeof part === 'string' ? harmlessLine(redact(part, secrets)) : quotedWhereSecret(part, secrets),
  );
  const failed = (why: string, cause?: unknown) =>
    new Error(`The alert webhook at ${new URL(url).host} ${why}`, { cause });
  let status: number;
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: redact(json, secrets),
      // It would tell the notice to somebody else.
      redirect: 'error',
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
    });
    status = answer.status;
    await answer.body?.cancel();
  } catch (error) {
    if (signal?.aborted) throw failed('was stopped, because Waybill stops');
    const isLate = error instanceof Error && error.name === 'TimeoutError';
    throw failed(isLate ? `did not answer within ${timeoutMs / 1000} s` : 'can not be reached');
  }
  if (status < 200 || status > 299) throw failed(`answered HTTP ${status}`);
}
