import { type KnownSecrets, webhookSecretProblem } from '../../model/secret.js';
import type { JobContext } from '../../ops/job-context.js';
import { AnswerRedaction } from '../../service/answer-words.js';
import { WatchedFiles } from '../../service/credential/watched-files.js';
import { endAlert, raiseAlert } from '../../store/alerts.js';
import { requestWakeUp } from '../../store/job-runs.js';
import type { Tx } from '../../store/store.js';
import { listenForWebhooks, type WebhookListener } from './listen.js';
import { WebhookHandler } from './webhook-handler.js';
import { insertEvent } from './webhook-rows.js';
import { addToTally } from './webhook-status.js';

const many = 20;
const withinMs = 60_000;
const overAfterMs = 3_600_000;

/**
 * Makes one alert of a flood of forged webhooks: so many within a minute begin it, an hour without one ends it. Pure, but for
 * what it remembers.
 */
export class ForgeryWatch {
  #windowAtMs = Number.NEGATIVE_INFINITY;
  #inWindow = 0;
  #lastAtMs = Number.NEGATIVE_INFINITY;
  /** An alert of an earlier process is over when this one sees nothing for as long. */
  #isOn: boolean | null = null;
  #startedAtMs: number | null = null;

  see(forged: number, nowMs: number): 'begun' | 'over' | null {
    this.#startedAtMs ??= nowMs;
    if (forged > 0) {
      if (nowMs - this.#windowAtMs > withinMs) {
        this.#windowAtMs = nowMs;
        this.#inWindow = 0;
      }
      this.#inWindow += forged;
      this.#lastAtMs = nowMs;
      if (this.#inWindow < many || this.#isOn) return null;
      this.#isOn = true;
      return 'begun';
    }
    if (this.#isOn === false || nowMs - Math.max(this.#lastAtMs, this.#startedAtMs) < overAfterMs) return null;
    this.#isOn = false;
    return 'over';
  }
}

interface ReceiveWebhooksOptions {
  /** Texts that may neither be shown nor kept. It learns of each secret that is read. */
  knownSecrets: KnownSecrets;
  /** Called when an event was stored by this process. */
  onEvent: () => void;
}

export interface WebhookReceiver {
  handler: WebhookHandler;
  /** null: another process still has it. */
  readonly port: number | null;
  close(): Promise<void>;
}

/** The interval at which the counts are stored. */
const tallyMs = 10_000;

/**
 * Listens for webhooks as long as the daemon runs, also while it stands by. An event is stored, and a row in the same
 * transaction wakes the daemon that delivers.
 */
export async function receiveWebhooks(context: JobContext, options: ReceiveWebhooksOptions): Promise<WebhookReceiver> {
  const { settings, store, log, nowMs } = context;
  const handler = webhookHandler(context, options);
  const watch = new ForgeryWatch();

  const tally = async (counts = handler.takeCounts()) => {
    const at = nowMs();
    const change = watch.see(counts.get('forged') ?? 0, at);
    if (counts.size === 0 && change === null) return;
    try {
      await store.transaction('count webhooks', async (tx) => {
        await addToTally(tx, counts, at);
        await tellForgeries(tx, change, at);
      });
    } catch (error) {
      log.warn('The counts of webhooks could not be stored', { error: (error as Error).message });
    }
  };

  let listener: WebhookListener | null = null;
  let isTold = false;
  const { host, path } = settings.webhooks;
  // Another daemon of this machine may have the port: then it listens for both, until it ends.
  const listen = async () => {
    try {
      listener ??= await listenForWebhooks(settings.webhooks, handler);
      log.info('Listening for webhooks', { host, port: listener.port, path });
      await tally(new Map([['listening', 1]]));
    } catch (error) {
      if (!isTold) log.error('Can not listen for webhooks; trying again', { error: (error as Error).message });
      isTold = true;
    }
  };
  await listen();
  const timer = setInterval(() => void (listener ? tally() : listen()), tallyMs);
  timer.unref();
  return {
    handler,
    get port() {
      return listener?.port ?? null;
    },
    close: async () => {
      clearInterval(timer);
      await listener?.close();
      await tally();
    },
  };
}

/** Ends the alert of an earlier daemon, where webhooks are switched off. */
export async function endForgeries({ store, nowMs }: JobContext): Promise<void> {
  await store.transaction('end an alert', (tx) => tellForgeries(tx, 'over', nowMs()));
}

/** Judges requests with the secrets of the settings, and keeps events in the store. */
export function webhookHandler(context: JobContext, { knownSecrets, onEvent }: ReceiveWebhooksOptions): WebhookHandler {
  const { settings, store, clock, log, actor, nowMs } = context;
  const secrets = webhookSecrets(context, knownSecrets);
  const redaction = new AnswerRedaction(() => knownSecrets.all);
  let saidAt = Number.NEGATIVE_INFINITY;
  return new WebhookHandler({
    settings: settings.webhooks,
    nowMs,
    secrets,
    holdsCredential: (text) => redaction.holdsCredential(text),
    tellUnread: (type) =>
      log.info('Webhooks of this type are answered and counted, and nothing is done (webhooks.events)', { type }),
    keep: async (event) => {
      try {
        const asksForRead = (isNew: boolean) => isNew || event.isNameless;
        const isNew = await store.transaction('store an event', async (tx) => {
          const stored = await insertEvent(tx, event, nowMs());
          if (asksForRead(stored)) await requestWakeUp(tx, 'webhooks', actor, nowMs());
          return stored;
        });
        if (asksForRead(isNew)) onEvent();
        return isNew;
      } catch (error) {
        // One line a minute is enough: other parts report too that the store is away.
        if (clock.monotonicMs() - saidAt > 60_000) {
          saidAt = clock.monotonicMs();
          log.error('An event could not be stored; the service was asked to send it again', {
            error: (error as Error).message,
          });
        }
        throw error;
      }
    },
  });
}

/** The secrets in the files as they are now. A file that became unusable leaves its last secret in force. */
function webhookSecrets({ settings, clock, log }: JobContext, knownSecrets: KnownSecrets): () => readonly string[] {
  const { secretFiles, scheme } = settings.webhooks;
  const files = secretFiles.map(
    (path) =>
      new WatchedFiles<string>({
        paths: [path],
        initial: '',
        load: ([text = '']) => {
          const secret = text.replace(/\r?\n$/, '');
          const problem = webhookSecretProblem(scheme, secret);
          if (problem) throw new Error(`it ${problem}`);
          knownSecrets.add(secret);
          return secret;
        },
        monotonicMs: () => clock.monotonicMs(),
        warn: (message) => log.warn(message),
      }),
  );
  return () => {
    for (const file of files) file.look();
    return files.map(({ value }) => value).filter((secret) => secret !== '');
  };
}

/** Begins or ends the alert that many webhooks are forged. */
export async function tellForgeries(tx: Tx, change: 'begun' | 'over' | null, nowMs: number): Promise<void> {
  if (change === 'begun') await raiseAlert(tx, 'webhooks.forged', { code: 'webhooks_forged' }, nowMs);
  if (change === 'over') await endAlert(tx, 'webhooks.forged', nowMs);
}
