/** What happened in the store, in the order in which it was written: noted by triggers, so that no code of ours is believed. */
export interface WitnessEvent {
  seq: number;
  what: 'message' | 'message-changed' | 'released' | 'attempt' | 'attempt-settled' | 'lease';
  at_ms: number;
  message_id: number | null;
  attempt_id: number | null;
  entity: string | null;
  source_key: string | null;
  old_state: string | null;
  new_state: string | null;
  old_first_sent: number | null;
  new_first_sent: number | null;
  /** What the message waited for while it was parked. */
  old_park_class: string | null;
  /** When the next try was due. */
  old_due: number | null;
  /** Epoch of the row that was written. */
  epoch: number | null;
  /** Epoch of the service lease at that moment. */
  lease_epoch: number | null;
  text: string | null;
}

const columns =
  'what, at_ms, message_id, attempt_id, entity, source_key, old_state, new_state, old_first_sent, new_first_sent, old_park_class, old_due, epoch, lease_epoch, text';

/** The statements that put the witness into a store whose schema is there. */
export function witnessSql(dialect: 'sqlite' | 'mysql'): string[] {
  return [witnessTable(dialect), ...witnessTriggers(dialect)];
}

/** Where the witness writes. */
export function witnessTable(dialect: 'sqlite' | 'mysql'): string {
  const sqlite = dialect === 'sqlite';
  const id = sqlite ? 'INTEGER PRIMARY KEY AUTOINCREMENT' : 'BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY';
  const end = sqlite ? '' : ' ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin';
  return `CREATE TABLE torture_witness (
      seq ${id}, what VARCHAR(20) NOT NULL, at_ms BIGINT NOT NULL, message_id BIGINT NULL, attempt_id BIGINT NULL, entity VARCHAR(16) NULL,
      source_key VARCHAR(255) NULL, old_state VARCHAR(12) NULL, new_state VARCHAR(12) NULL, old_first_sent BIGINT NULL,
      new_first_sent BIGINT NULL, old_park_class VARCHAR(16) NULL, old_due BIGINT NULL, epoch BIGINT NULL, lease_epoch BIGINT NULL, text VARCHAR(255) NULL)${end}`;
}

/** What notes it there. */
export function witnessTriggers(dialect: 'sqlite' | 'mysql'): string[] {
  const sqlite = dialect === 'sqlite';
  const now = sqlite
    ? "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"
    : "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(3)) DIV 1000)";
  const lease = "(SELECT epoch FROM lease WHERE name='service')";
  const differs = (a: string, b: string) => (sqlite ? `${a} IS NOT ${b}` : `NOT (${a} <=> ${b})`);
  const trigger = (name: string, event: string, when: string | null, values: string) => {
    const insert = `INSERT INTO torture_witness (${columns}) VALUES (${values})`;
    if (sqlite)
      return `CREATE TRIGGER torture_${name} AFTER ${event} FOR EACH ROW ${when ? `WHEN ${when}` : ''} BEGIN ${insert}; END`;
    const body = when ? `IF ${when} THEN ${insert}; END IF` : insert;
    return `CREATE TRIGGER torture_${name} AFTER ${event} FOR EACH ROW BEGIN ${body}; END`;
  };
  return [
    trigger(
      'message_new',
      'INSERT ON outbox_message',
      null,
      `'message', ${now}, NEW.id, NULL, NEW.entity, NEW.source_key, NULL, NEW.state, NULL, NEW.first_sent_at, NULL, NULL, NEW.claim_epoch, ${lease}, NEW.operation`,
    ),
    trigger(
      'message_changed',
      'UPDATE ON outbox_message',
      `${differs('OLD.state', 'NEW.state')} OR ${differs('OLD.first_sent_at', 'NEW.first_sent_at')}`,
      `'message-changed', ${now}, NEW.id, NULL, NEW.entity, NEW.source_key, OLD.state, NEW.state, OLD.first_sent_at, NEW.first_sent_at, OLD.park_class, OLD.next_attempt_at, NEW.claim_epoch, ${lease}, NEW.park_class`,
    ),
    // What a pass wrote is due at the end of time, until the pass lets it go. One statement has one time.
    trigger(
      'message_released',
      'UPDATE ON outbox_message',
      "OLD.state='pending' AND NEW.state='pending' AND OLD.next_attempt_at>=8639999999999999 AND NEW.next_attempt_at<8639999999999999",
      `'released', ${now}, NEW.id, NULL, NEW.entity, NEW.source_key, NULL, NULL, NULL, NULL, NULL, OLD.next_attempt_at, NULL, NULL, CASE OLD.next_attempt_at WHEN 8640000000000000 THEN 'update' ELSE 'removal' END`,
    ),
    trigger(
      'attempt_new',
      'INSERT ON attempt',
      null,
      `'attempt', ${now}, NEW.message_id, NEW.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NEW.epoch, ${lease}, NEW.idempotency_key`,
    ),
    trigger(
      'attempt_settled',
      'UPDATE ON attempt',
      differs('OLD.verdict', 'NEW.verdict'),
      `'attempt-settled', ${now}, NEW.message_id, NEW.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NEW.epoch, ${lease}, NEW.verdict`,
    ),
    trigger(
      'lease_changed',
      'UPDATE ON lease',
      `NEW.name='service' AND (${differs('OLD.epoch', 'NEW.epoch')} OR ${differs('OLD.holder', 'NEW.holder')})`,
      `'lease', ${now}, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NEW.epoch, OLD.epoch, NEW.holder`,
    ),
  ];
}
