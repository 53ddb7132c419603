import type { Confirmation } from '../confirm-held.js';
import type { OperatorAction } from '../operator-action.js';

interface ActionWords {
  question: string;
  outcome: string;
}

/** What the terminal and the desk call the actions of an operator. */
export const actionWords: Record<OperatorAction, ActionWords & { possible: string }> = {
  retry: { question: 'Try again now:', possible: 'can be tried again:', outcome: 'Will be tried again now' },
  discard: { question: 'Discard for good:', possible: 'can be discarded:', outcome: 'Discarded' },
  delivered: {
    question: 'Record as delivered:',
    possible: 'can be resolved:',
    outcome: 'Recorded as delivered',
  },
  not_delivered: {
    question: 'Record as not delivered, and send again:',
    possible: 'can be resolved:',
    outcome: 'Recorded as not delivered; will be sent again now',
  },
  look_up: { question: 'Ask the service for', possible: 'can be looked up:', outcome: 'Will be looked up' },
};

export const heldWords: Record<Confirmation, ActionWords> = {
  send: { question: 'Send to the service:', outcome: 'Will be sent now' },
  adopt: { question: 'Adopt as the baseline, without sending:', outcome: 'Adopted without sending' },
  discard: { question: 'Discard for good:', outcome: 'Discarded' },
};
