import type { StoreSettings } from '../../src/config/sections/store.js';
import { everyAttempt } from '../support/every-attempt.js';

/** As the settings call it. */
export type StoreType = StoreSettings['type'];

/** The events in the store, in the order in which they were written: noted by triggers, so that no code of ours is believed. */
export interface WitnessEvent {
  seq: number;
  what: 'message' | 'message-changed' | 'released' | 'attempt' | 'attempt-settled' | 'attempt-dropped' | 'lease';
  at_ms: number;
  message_id: number | null;
  attempt_id: number | null;
  entity: string | null;
  source_key: string | null;
  old_state: string | null;
  new_state: string | null;
  old_first_sent: number | null;
  new_first_sent: number | null;
  /** The thing that the message waited for while it was parked. */
  old_park_class: string | null;
  /** The thing that it waited for other than a time. */
  old_waits_for: string | null;
  /** Epoch of the row that was written. */
  epoch: number | null;
  /** The epoch in which it may be written: its own where a node of a cluster has that at this moment, else that of the service lease. */
  lease_epoch: number | null;
  text: string | null;
}

const columns =
  'what, at_ms, message_id, attempt_id, entity, source_key, old_state, new_state, old_first_sent, new_first_sent, old_park_class, old_waits_for, epoch, text';

/**
 * Adds the epochs in force. No trigger reads them: it would lock the rows of leases, and nodes would wait for one another.
 * @param events in their order, which is that of the locks on these rows
 */
export function withEpochsInForce(events: Omit<WitnessEvent, 'lease_epoch'>[]): WitnessEvent[] {
  const leases = new Map<string | null, number | null>();
  return events.map((event) => {
    const before = leases.get(event.source_key) ?? null;
    if (event.what === 'lease') {
      const isOver = event.text === null && event.source_key !== 'service';
      leases.set(event.source_key, isOver ? null : event.epoch);
      return { ...event, lease_epoch: before };
    }
    const isHeld = event.epoch !== null && [...leases.values()].includes(event.epoch);
    return { ...event, lease_epoch: isHeld ? event.epoch : (leases.get('service') ?? null) };
  });
}

/** The statements that put the witness into a store whose schema is there. */
export function witnessSql(dialect: StoreType): string[] {
  return [witnessTable(dialect), ...witnessTriggers(dialect)];
}

interface Words {
  id: string;
  end: string;
  /** Run once the table has its first rows. */
  afterRows: readonly string[];
  now: string;
  differs(a: string, b: string): string;
  /** @param body a statement */
  trigger(name: string, event: string, when: string | null, body: string): string;
}

/** The form in each database; in words of our own, so that a mistake of the dialects is not made here again. */
const words: Record<StoreType, Words> = {
  sqlite: {
    id: 'INTEGER PRIMARY KEY AUTOINCREMENT',
    end: '',
    afterRows: [],
    now: "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
    differs: (a, b) => `${a} IS NOT ${b}`,
    trigger: (name, event, when, body) =>
      `CREATE TRIGGER ${name} ${event} FOR EACH ROW ${when ? `WHEN ${when}` : ''} BEGIN ${body}; END`,
  },
  mysql: {
    id: 'BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY',
    end: ' ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin',
    afterRows: [],
    now: "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(3)) DIV 1000)",
    differs: (a, b) => `NOT (${a} <=> ${b})`,
    trigger: (name, event, when, body) =>
      `CREATE TRIGGER ${name} ${event} FOR EACH ROW BEGIN ${when ? `IF ${when} THEN ${body}; END IF` : body}; END`,
  },
  postgres: {
    id: 'BIGSERIAL PRIMARY KEY',
    end: '',
    afterRows: [
      "SELECT setval('torture_witness_seq_seq', COALESCE((SELECT MAX(seq) FROM torture_witness), 0) + 1, false)",
    ],
    now: '(EXTRACT(EPOCH FROM statement_timestamp())*1000)::bigint',
    differs: (a, b) => `${a} IS DISTINCT FROM ${b}`,
    trigger: (name, event, when, body) =>
      `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN ${body}; IF TG_OP='DELETE' THEN RETURN OLD; END IF; RETURN NEW; END$$;
       CREATE TRIGGER ${name} ${event} FOR EACH ROW ${when ? `WHEN (${when})` : ''} EXECUTE FUNCTION ${name}()`,
  },
};

/** A trigger that runs `body` for each row. @param event as in `AFTER UPDATE ON lease` */
export function triggerSql(dialect: StoreType, name: string, event: string, when: string | null, body: string): string {
  return words[dialect].trigger(`torture_${name}`, event, when, body);
}

/** The place where the witness writes. */
export function witnessTable(dialect: StoreType): string {
  const { id, end } = words[dialect];
  return `CREATE TABLE torture_witness (
      seq ${id}, what VARCHAR(20) NOT NULL, at_ms BIGINT NOT NULL, message_id BIGINT NULL, attempt_id BIGINT NULL, entity VARCHAR(16) NULL,
      source_key VARCHAR(255) NULL, old_state VARCHAR(12) NULL, new_state VARCHAR(12) NULL, old_first_sent BIGINT NULL,
      new_first_sent BIGINT NULL, old_park_class VARCHAR(16) NULL, old_waits_for VARCHAR(12) NULL, epoch BIGINT NULL, text VARCHAR(255) NULL)${end}`;
}

/** The attempts of a store, and the claims that have not ended and are none of their own yet. */
export const attemptsSql = `SELECT id, message_id, purpose, number, epoch, idempotency_key, body_hash, intended_at, started_at, verdict, reason_code, reason_data, request_id
    FROM ${everyAttempt}
  UNION ALL SELECT -m.id, m.id, m.operation, m.attempts, m.claim_epoch, m.idempotency_key, m.body_hash, m.claimed_at, NULL, NULL, NULL, NULL, NULL
    FROM outbox_message m
   WHERE m.state='sending' AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.message_id=m.id AND a.number=m.attempts)`;

/** The triggers that write there. */
/** When a row's message was first sent, as the witness has it: 1 where that time is not known. */
const firstSend = (row: 'OLD' | 'NEW') => `CASE WHEN ${row}.was_sent=1 THEN COALESCE(${row}.first_sent_at, 1) END`;

export function witnessTriggers(dialect: StoreType): string[] {
  const { now, differs } = words[dialect];
  const insert = (values: string) => `INSERT INTO torture_witness (${columns}) VALUES (${values})`;
  const trigger = (name: string, event: string, when: string | null, values: string) =>
    triggerSql(dialect, name, `AFTER ${event}`, when, insert(values));
  return [
    ...words[dialect].afterRows,
    trigger(
      'message_new',
      'INSERT ON outbox_message',
      null,
      `'message', ${now}, NEW.id, NULL, NEW.entity, NEW.source_key, NULL, NEW.state, NULL, ${firstSend('NEW')}, NULL, NULL, NEW.claim_epoch, NEW.operation`,
    ),
    trigger(
      'message_changed',
      'UPDATE ON outbox_message',
      `${differs('OLD.state', 'NEW.state')} OR ${differs(firstSend('OLD'), firstSend('NEW'))}`,
      `'message-changed', ${now}, NEW.id, NULL, NEW.entity, NEW.source_key, OLD.state, NEW.state, ${firstSend('OLD')}, ${firstSend('NEW')}, OLD.park_class, OLD.waits_for, NEW.claim_epoch, NEW.park_class`,
    ),
    // A scan lets go all that it found in one statement, which has one time.
    trigger(
      'message_released',
      'UPDATE ON outbox_message',
      "NEW.state='pending' AND OLD.waits_for='scan' AND NEW.waits_for IS NULL",
      `'released', ${now}, NEW.id, NULL, NEW.entity, NEW.source_key, NULL, NULL, NULL, NULL, NULL, OLD.waits_for, NULL, CASE WHEN NEW.removal IS NULL THEN 'update' ELSE 'removal' END`,
    ),
    // A write is claimed: its attempt is on record with its message, and a row of its own when it has ended without delivering it.
    trigger(
      'write_claimed',
      'UPDATE ON outbox_message',
      `NEW.state='sending' AND OLD.state<>'sending' AND ${differs('OLD.claimed_at', 'NEW.claimed_at')}`,
      `'attempt', ${now}, NEW.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NEW.claim_epoch, NEW.idempotency_key`,
    ),
    trigger(
      'write_delivered',
      'UPDATE ON outbox_message',
      "OLD.state='sending' AND NEW.state='delivered' AND NEW.started_at IS NOT NULL",
      `'attempt-settled', ${now}, NEW.id, -NEW.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NEW.claim_epoch, 'delivered'`,
    ),
    trigger(
      'write_settled',
      'INSERT ON attempt',
      'NEW.verdict IS NOT NULL',
      `'attempt-settled', ${now}, NEW.message_id, NEW.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NEW.epoch, NEW.verdict`,
    ),
    trigger(
      'attempt_new',
      'INSERT ON attempt',
      'NEW.verdict IS NULL',
      `'attempt', ${now}, NEW.message_id, NEW.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NEW.epoch, NEW.idempotency_key`,
    ),
    trigger(
      'attempt_settled',
      'UPDATE ON attempt',
      differs('OLD.verdict', 'NEW.verdict'),
      `'attempt-settled', ${now}, NEW.message_id, NEW.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NEW.epoch, NEW.verdict`,
    ),
    // A successor takes back what never left. Before the change of the state is noted.
    triggerSql(
      dialect,
      'attempt_dropped',
      'BEFORE UPDATE ON outbox_message',
      'NEW.attempts<OLD.attempts',
      insert(
        `'attempt-dropped', ${now}, OLD.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, OLD.claim_epoch, NULL`,
      ),
    ),
    trigger(
      'lease_changed',
      'UPDATE ON lease',
      `(NEW.name='service' OR NEW.name LIKE 'node/%') AND (${differs('OLD.epoch', 'NEW.epoch')} OR ${differs('OLD.holder', 'NEW.holder')})`,
      `'lease', ${now}, NULL, NULL, NULL, NEW.name, NULL, NULL, NULL, NULL, NULL, NULL, NEW.epoch, NEW.holder`,
    ),
  ];
}
