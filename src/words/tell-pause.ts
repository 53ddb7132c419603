import type { Fact } from '../model/facts/fact.js';
import type { Reader } from './sentence.js';
import { tell } from './words.js';

interface Pause {
  /** `capture` of one source is `capture.SOURCE`. */
  lane: string;
  cause: string;
  until_at: number | null;
  reason: Fact;
  since_at: number;
}

const subjects: Record<string, string> = {
  capture: 'Capture',
  deliver: 'Delivery',
  pull: 'The invoice pull',
  service: 'Everything that talks to the service',
};

/** A pause in words, without a full stop. With a reader, who has times, also since when and until when. */
export function tellPause({ lane, cause, reason, since_at, until_at }: Pause, reader?: Reader): string {
  const until = reader && (until_at === null ? 'until somebody resumes it' : `until ${reader.time(until_at)}`);
  const since = reader ? ` since ${reader.time(since_at)}, ${until}` : '';
  const [job = '', source] = lane.split('.');
  return `${subjects[job]}${source ? ` of source ${source}` : ''} is paused (${cause})${since}: ${tell(reason, reader)}`;
}

/** The step for a person about a pause that does not end by itself. Followed by the command that ends it. */
export function remedyForPause({ cause }: Pick<Pause, 'cause'>): string {
  if (cause === 'operator') return 'End the pause';
  if (cause === 'credential')
    return 'Replace the credential: a new file is tried without a restart. If the cause was at the service, end the pause';
  if (cause === 'misconfigured') return 'Check the address and the permissions of the account, then end the pause';
  return 'Remove the cause, then end the pause';
}
