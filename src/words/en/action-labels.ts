/** The names of an action: on its button, in its question, and when it is done. */
export interface ActionLabels {
  label: string;
  /** Asked with how many records of which kind behind it. */
  question: string;
  outcome: string;
  /** One, and many. */
  noun: readonly [one: string, many: string];
  /** The part of the matching messages that `can be …`. */
  possible?: string;
  /** Nothing is there to act on. */
  none?: string;
  /** Its command, where it is the first action of that. */
  command?: { summary: string; example: string };
  /** The option that chooses it from the actions of one command. */
  choice?: string;
  /** The effect that cannot be taken back. */
  warning?: string;
  inputs?: { readonly [input: string]: { label: string; help: string } };
}

const message = { noun: ['message', 'messages'], none: 'No message matches.' } as const;
const change = { noun: ['change', 'changes'], none: 'No change is held.' } as const;
const unchecked = {
  label: 'I looked at the service myself',
  help: 'you looked at the service yourself: Waybill does not ask it, and records it as your word alone',
};

const labels = {
  retry: {
    ...message,
    label: 'Try again',
    question: 'Try again now',
    possible: 'can be tried again',
    outcome: 'Will be tried again now',
    command: {
      summary: 'Try parked or waiting messages again now, where that cannot make a second record.',
      example: 'waybill outbox retry --class refused --reason-like "unknown sku" --reason "sku added at the service"',
    },
  },
  discard: {
    ...message,
    label: 'Discard',
    question: 'Discard for good',
    possible: 'can be discarded',
    outcome: 'Discarded',
    command: {
      summary: 'Close messages for good: parked ones, and ones of which nothing was sent.',
      example: 'waybill outbox discard --key 4711 --entity order --reason "test order"',
    },
  },
  look_up: {
    ...message,
    label: 'Ask the service for it',
    question: 'Ask the service for it',
    possible: 'can be looked up',
    outcome: 'Will be looked up',
    command: {
      summary: 'Say what you found at the service about messages that may exist there.',
      example:
        'waybill outbox resolve --key 4711 --entity order --delivered --service-id ord_93 --reason "found by its note"',
    },
    choice: 'ask the service for it (service.endpoints.lookUpOrder and lookUpCustomer)',
  },
  delivered: {
    ...message,
    label: 'It is at the service',
    question: 'Record as delivered',
    possible: 'can be resolved',
    outcome: 'Recorded as delivered',
    choice: 'it exists there',
    inputs: {
      serviceId: {
        label: 'Its id at the service',
        help: 'the id that the service gave to it (orders need it, or a --file with the ids); Waybill asks the service what it has there',
      },
      unchecked,
    },
  },
  not_delivered: {
    ...message,
    label: 'It is not at the service',
    question: 'Record as not delivered, and send again',
    possible: 'can be resolved',
    outcome: 'Recorded as not delivered; will be sent again now',
    choice: 'it does not exist there: Waybill sends it again, under a new key',
  },
  held_send: {
    ...change,
    label: 'Send what is held',
    question: 'Send to the service',
    outcome: 'Will be sent now',
  },
  held_adopt: {
    ...change,
    label: 'Adopt without sending',
    question: 'Adopt as the baseline, without sending',
    outcome: 'Adopted without sending',
  },
  held_discard: {
    ...change,
    label: 'Discard what is held',
    question: 'Discard for good',
    outcome: 'Discarded',
  },
  held_invoices: {
    label: 'Take them off the list',
    question: 'Take them off the list',
    outcome: 'No longer listed',
    noun: ['invoice', 'invoices'],
    none: 'No invoice is held.',
  },
  forget: {
    label: 'Erase the personal data',
    question: 'Erase the personal data',
    outcome: 'Erased',
    noun: ['customer', 'customers'],
    warning:
      'Bodies, answers and reasons go for good; the key, the id at the service and hashes stay. Backups of the store, and the service itself, still hold the data.',
    command: {
      summary: 'Erase personal data of a customer: bodies, answers, reasons. Key, id and hashes stay.',
      example: 'waybill forget customer 4711 --reason "request of 3 November" --yes',
    },
  },
  move: {
    label: 'It is another record at the service',
    question: 'Move its binding',
    outcome: 'Moved',
    noun: ['record', 'records'],
    command: {
      summary: 'Say that a record is another one at the service than Waybill has on record. You name both ids.',
      example:
        'waybill bindings move order 4711 --from ord_93 --to ord_94 --reason "ord_93 was made twice, and removed"',
    },
    inputs: {
      from: { label: 'The id on record', help: 'the id that it has on record' },
      to: { label: 'The right id', help: 'the id that is right' },
      unchecked,
    },
  },
  pause: { label: 'Pause', question: 'Pause', outcome: 'Paused', noun: ['job', 'jobs'] },
  resume: { label: 'Resume', question: 'Resume', outcome: 'Pauses ended', noun: ['job', 'jobs'] },
  reconcile: {
    label: 'Compare',
    question: 'Compare both sides',
    outcome: 'The daemon was asked to compare',
    noun: ['comparison', 'comparisons'],
  },
  reconcile_repair: {
    label: 'Repair',
    question: 'Repair what differs',
    outcome: 'Given to the outbox',
    noun: ['record', 'records'],
    none: 'There is nothing that could be repaired.',
  },
} as const satisfies { [action: string]: ActionLabels };

/** The labels of an action. An action without any does not compile where it is drawn. */
export function labelsOf(name: keyof typeof labels): ActionLabels {
  return labels[name];
}

/** `1 message`, `3 messages`. */
export function counted(count: number, [one, many]: readonly [one: string, many: string]): string {
  return `${count} ${count === 1 ? one : many}`;
}
