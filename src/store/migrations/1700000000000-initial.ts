import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { StoreError } from '../store-error.js';
import { noWayBack } from './no-way-back.js';

/**
 * The schema. One text for all databases; what differs is a parameter of `tables`, or translated (`schemaWords`).
 * Times are milliseconds since 1970 (UTC). Source keys are compared byte by byte.
 */
export class Initial1700000000000 implements MigrationInterface {
  name = 'Initial1700000000000';

  async up(runner: QueryRunner): Promise<void> {
    const { id, longText, columns, end } = await dialectOfSource(runner.connection).schemaWords(runner);
    for (const [name, definition] of Object.entries(tables(id, longText))) {
      await removeLeft(runner, name, definition);
      await runner.query(`CREATE TABLE ${name} (${columns(definition)})${end}`);
    }
    for (const index of indexes) await runner.query(`CREATE INDEX ${index}`);
  }

  down = noWayBack;
}

/**
 * Removes what a run that was interrupted has left: where each statement commits by itself, the tables that were made stay. Nothing
 * is in them, because no store opens before its migrations have ended.
 * @throws StoreError where another program has a table of this name
 */
async function removeLeft(runner: QueryRunner, name: string, definition: string): Promise<void> {
  if (!(await runner.hasTable(name))) return;
  const found = (await runner.getTable(name))?.columns.map((column) => column.name) ?? [];
  const own = columnNames(definition);
  const isOurs = found.length === own.length && own.every((column) => found.includes(column));
  if (!isOurs || (await runner.query(`SELECT 1 FROM ${name} LIMIT 1`)).length > 0)
    throw new StoreError(
      `The database of the store has a table ${name} already, which Waybill has not made. Give the store a database of its own.`,
    );
  await runner.query(`DROP TABLE ${name}`);
}

/** The columns of a definition; what begins in capitals is a key. */
function columnNames(definition: string): string[] {
  const outside = definition.replace(/\([^)]*\)/g, '');
  return outside
    .split(',')
    .map((part) => part.trim().split(' ')[0] ?? '')
    .filter((word) => /^[a-z]/.test(word));
}

/** Name → columns. */
const tables = (id: string, longText: string): Record<string, string> => ({
  store_info: `
    name VARCHAR(64) NOT NULL PRIMARY KEY, value TEXT NOT NULL`,

  // key_field: where the key travels, frozen with the bytes. '' is a header, a name is that field of the body.
  // found_at: when a person or a look-up found its record at the service, which never acknowledged its key.
  // removal: why the record has to go at the service, cancelled or deleted in the ERP; null of what is no removal.
  // folded_key: one text for all spellings of the key that a collation may call equal (foldKey).
  // source: of which ERP, by its key (sourceOf); empty: the default one.
  // is_backlog: one of the many that a resync or a changed mapping brings; they go after what is new.
  // total: of the lines of an order, in the service's unit of money; null: to be added up from the record.
  // claimed_at: when it was last claimed for sending. With attempts, claim_epoch, idempotency_key and body_hash this is its
  // attempt as long as it has no outcome, and the one that delivered it: started_at to trace_id are what came of that.
  outbox_message: `
    id ${id}, entity VARCHAR(16) NOT NULL, source_key VARCHAR(255) NOT NULL, revision INT NOT NULL,
    source VARCHAR(24) NOT NULL DEFAULT '', operation VARCHAR(8) NOT NULL, generation INT NOT NULL, number VARCHAR(255) NULL,
    source_changed_at VARCHAR(64) NULL, customer_key VARCHAR(255) NULL, idempotency_key VARCHAR(64) NULL,
    body_hash CHAR(64) NULL, content_hash CHAR(64) NOT NULL, mapping_fingerprint CHAR(64) NOT NULL,
    state VARCHAR(12) NOT NULL, park_class VARCHAR(12) NULL, reason VARCHAR(1000) NULL,
    next_attempt_at BIGINT NOT NULL, claim_epoch BIGINT NULL, claimed_from VARCHAR(12) NULL, claimed_at BIGINT NULL,
    attempts INT NOT NULL DEFAULT 0, failures INT NOT NULL DEFAULT 0,
    invalid_answers INT NOT NULL DEFAULT 0, customer_waits INT NOT NULL DEFAULT 0, first_sent_at BIGINT NULL,
    service_id VARCHAR(255) NULL, flag VARCHAR(500) NULL, captured_at BIGINT NOT NULL, closed_at BIGINT NULL,
    method VARCHAR(8) NULL, identity VARCHAR(500) NULL, is_backlog TINYINT NOT NULL DEFAULT 0,
    key_field VARCHAR(64) NULL, found_at BIGINT NULL, folded_key VARCHAR(255) NOT NULL,
    removal VARCHAR(9) NULL, total VARCHAR(40) NULL,
    started_at BIGINT NULL, duration_ms INT NULL, requests INT NULL, status INT NULL, request_id VARCHAR(255) NULL,
    trace_id CHAR(32) NULL,
    UNIQUE (source_key, entity, revision)`,

  message_body: `
    message_id BIGINT NOT NULL PRIMARY KEY, record ${longText} NOT NULL, body ${longText} NULL`,

  // service_…: what the service said last of an order, when it acknowledged it or was read; read_…: when, and of which id, it was read.
  // number: of an order whose messages are pruned.
  // read_asked_at: when it was last asked for, which is where reading goes on.
  // missing_since: when the record was first missed by the sweeps in a row that miss it; missing_in_sweep_at: when the last of them began.
  binding: `
    entity VARCHAR(16) NOT NULL, source_key VARCHAR(255) NOT NULL, service_id VARCHAR(255) NOT NULL,
    revision INT NOT NULL, generation INT NOT NULL,
    content_hash CHAR(64) NOT NULL, mapping_fingerprint CHAR(64) NOT NULL, acknowledged ${longText} NULL,
    acknowledged_at BIGINT NOT NULL, identity VARCHAR(500) NULL, missing_since BIGINT NULL,
    read_state VARCHAR(8) NOT NULL DEFAULT 'open',
    read_asked_at BIGINT NOT NULL DEFAULT 0, read_at BIGINT NULL, gone_at BIGINT NULL,
    read_id VARCHAR(255) NULL, read_flag VARCHAR(500) NULL, service_status VARCHAR(255) NULL,
    service_total BIGINT NULL, number VARCHAR(255) NULL, missing_in_sweep_at BIGINT NULL,
    folded_key VARCHAR(255) NOT NULL,
    PRIMARY KEY (entity, source_key), UNIQUE (entity, service_id)`,

  closed_binding: `
    entity VARCHAR(16) NOT NULL, source_key VARCHAR(255) NOT NULL, service_id VARCHAR(255) NOT NULL,
    revision INT NOT NULL, generation INT NOT NULL, closed_at BIGINT NOT NULL,
    PRIMARY KEY (entity, source_key)`,

  // differs: names of fields as a JSON array; null where they were not compared. reviewed_at: when a person decided.
  adoption: `
    entity VARCHAR(16) NOT NULL, source_key VARCHAR(255) NOT NULL, service_id VARCHAR(255) NOT NULL,
    adopted_from VARCHAR(16) NOT NULL, adopted_at BIGINT NOT NULL, actor VARCHAR(255) NOT NULL,
    differs ${longText} NULL, reviewed_at BIGINT NULL,
    PRIMARY KEY (entity, source_key)`,

  // A write comes here when it has ended, unless it delivered its message; a read or a look-up before it is sent.
  attempt: `
    id ${id}, message_id BIGINT NULL, purpose VARCHAR(16) NOT NULL, number INT NOT NULL, epoch BIGINT NOT NULL,
    idempotency_key VARCHAR(64) NULL, body_hash CHAR(64) NULL,
    intended_at BIGINT NOT NULL, started_at BIGINT NULL, duration_ms INT NULL, requests INT NULL, status INT NULL,
    verdict VARCHAR(20) NULL, reason VARCHAR(1000) NULL, request_id VARCHAR(255) NULL,
    excerpt TEXT NULL, trace_id CHAR(32) NULL,
    UNIQUE (message_id, number)`,

  // chain, seq, hash: its place in a chain of hashes (audit-log.ts).
  audit_log: `
    id ${id}, chain BIGINT NOT NULL, seq BIGINT NOT NULL, hash CHAR(64) NOT NULL,
    at BIGINT NOT NULL, event VARCHAR(32) NOT NULL, outcome VARCHAR(20) NULL,
    entity VARCHAR(16) NULL, source_key VARCHAR(255) NULL, message_id BIGINT NULL, attempt_id BIGINT NULL,
    actor VARCHAR(255) NOT NULL, detail ${longText} NOT NULL`,

  // link_…: the line behind which the chain began; pruned_…: its last line that is pruned; head_…: its last line.
  audit_chain: `
    id ${id}, begun_at BIGINT NOT NULL, link_chain BIGINT NULL, link_seq BIGINT NULL, link_hash CHAR(64) NULL,
    pruned_seq BIGINT NOT NULL, pruned_hash CHAR(64) NOT NULL, head_seq BIGINT NOT NULL, head_hash CHAR(64) NOT NULL`,

  // mapping_fingerprint: the hash of the name of the column that changed_at and high_changed_at are values of.
  capture_cursor: `
    name VARCHAR(64) NOT NULL PRIMARY KEY, changed_at VARCHAR(64) NULL, swept_at BIGINT NULL,
    mapping_fingerprint CHAR(64) NULL, high_changed_at VARCHAR(64) NULL, high_key VARCHAR(255) NULL,
    swept_rows BIGINT NULL, brake VARCHAR(16) NULL, brake_reason VARCHAR(1000) NULL`,

  unsettled: `
    source_key VARCHAR(255) NOT NULL PRIMARY KEY, first_seen_at BIGINT NOT NULL, content_hash CHAR(64) NOT NULL,
    reason VARCHAR(1000) NOT NULL`,

  // Orders that the service has, and that left orders.pending without a mark that says why.
  left_order: `
    source_key VARCHAR(255) NOT NULL PRIMARY KEY, since_at BIGINT NOT NULL, reason VARCHAR(255) NOT NULL`,

  // Records that the ERP replaced: by which key each goes on, or into which known record it was merged.
  replaced_record: `
    entity VARCHAR(16) NOT NULL, source_key VARCHAR(255) NOT NULL, replaced_by VARCHAR(255) NOT NULL, at BIGINT NOT NULL,
    PRIMARY KEY (entity, source_key)`,

  // holder_process: which process of which machine it is, for another one there to see whether it has ended.
  // since_at, version, share: of a node of a cluster, when it joined, what it runs and its places of the limits (nodes.ts).
  lease: `
    name VARCHAR(64) NOT NULL PRIMARY KEY, epoch BIGINT NOT NULL, holder VARCHAR(255) NULL,
    holder_process VARCHAR(160) NULL, expires_at BIGINT NOT NULL, released_at BIGINT NULL,
    since_at BIGINT NULL, version VARCHAR(64) NULL, share VARCHAR(1000) NULL`,

  lane_pause: `
    lane VARCHAR(40) NOT NULL, cause VARCHAR(16) NOT NULL, until_at BIGINT NULL, reason VARCHAR(1000) NOT NULL,
    actor VARCHAR(255) NOT NULL, since_at BIGINT NOT NULL,
    PRIMARY KEY (lane, cause)`,

  wake_up: `
    job VARCHAR(16) NOT NULL PRIMARY KEY, requested_at BIGINT NOT NULL, actor VARCHAR(255) NOT NULL`,

  // The work of each minute and hour, for charts. spans: counts by the time from capture to acknowledgement
  // (spanEndsS). waiting, oldest_s: the most that a look found; null: nothing looked.
  figure: `
    width VARCHAR(6) NOT NULL, at BIGINT NOT NULL, delivered INT NOT NULL, not_delivered INT NOT NULL,
    requests INT NOT NULL, spans VARCHAR(500) NOT NULL, waiting INT NULL, oldest_s BIGINT NULL,
    PRIMARY KEY (width, at)`,

  job_run: `
    job VARCHAR(40) NOT NULL PRIMARY KEY, succeeded_at BIGINT NULL, failures INT NOT NULL,
    failing_since BIGINT NULL, failure VARCHAR(1000) NULL`,

  // open_cause holds the cause while it lasts, so that each cause is open once at most.
  alert: `
    id ${id}, cause VARCHAR(64) NOT NULL, open_cause VARCHAR(64) NULL UNIQUE, message VARCHAR(1000) NOT NULL,
    details ${longText} NOT NULL, since_at BIGINT NOT NULL, over_at BIGINT NULL, raised_told_at BIGINT NULL,
    over_told_at BIGINT NULL, tries INT NOT NULL DEFAULT 0, next_try_at BIGINT NOT NULL`,

  // drop_held_at: since when a brake keeps it listed, although a proven list lacks it.
  invoice: `
    invoice_no VARCHAR(255) NOT NULL PRIMARY KEY, customer_code VARCHAR(255) NULL, amount BIGINT NOT NULL,
    due_date CHAR(10) NOT NULL, status VARCHAR(64) NOT NULL,
    first_listed_at BIGINT NOT NULL, last_listed_at BIGINT NOT NULL, unlisted_at BIGINT NULL,
    missed_at BIGINT NULL, left_status VARCHAR(64) NULL, drop_held_at BIGINT NULL`,

  // The one pull in the making. list_customer is empty where the invoices of all customers are asked for at once.
  invoice_staging: `
    list_customer VARCHAR(255) NOT NULL, list_state VARCHAR(64) NOT NULL, row_key VARCHAR(260) NOT NULL,
    invoice_no VARCHAR(255) NULL, customer_code VARCHAR(255) NULL, amount BIGINT NULL, due_date CHAR(10) NULL,
    status VARCHAR(64) NULL, malformed VARCHAR(500) NULL,
    has_left INT NOT NULL DEFAULT 0, is_newest INT NOT NULL DEFAULT 1, first_pass INT NOT NULL,
    last_pass INT NOT NULL,
    PRIMARY KEY (list_customer, list_state, row_key)`,

  invoice_group: `
    list_customer VARCHAR(255) NOT NULL PRIMARY KEY, is_proven INT NOT NULL`,

  invoice_malformed: `
    list_customer VARCHAR(255) NOT NULL, list_state VARCHAR(64) NOT NULL, row_key VARCHAR(260) NOT NULL,
    invoice_no VARCHAR(255) NULL, reason VARCHAR(500) NOT NULL, since_at BIGINT NOT NULL,
    PRIMARY KEY (list_customer, list_state, row_key)`,

  invoice_state: `
    status VARCHAR(64) NOT NULL PRIMARY KEY, invoice_no VARCHAR(255) NOT NULL, since_at BIGINT NOT NULL`,

  invoice_pull: `
    id ${id}, outcome VARCHAR(16) NOT NULL, reason VARCHAR(1000) NULL,
    started_at BIGINT NOT NULL, ended_at BIGINT NULL,
    pages INT NOT NULL DEFAULT 0, listed INT NOT NULL DEFAULT 0, service_total BIGINT NULL,
    added INT NOT NULL DEFAULT 0, changed INT NOT NULL DEFAULT 0, unlisted INT NOT NULL DEFAULT 0,
    malformed INT NOT NULL DEFAULT 0, states VARCHAR(1500) NOT NULL DEFAULT 'unpaid',
    passes INT NOT NULL DEFAULT 0, asked INT NOT NULL DEFAULT 0, missed INT NOT NULL DEFAULT 0,
    progress ${longText} NULL, progress_at BIGINT NULL`,

  webhook_event: `
    event_id VARCHAR(255) NOT NULL PRIMARY KEY, type VARCHAR(255) NOT NULL, about VARCHAR(16) NOT NULL,
    subject VARCHAR(255) NULL, state VARCHAR(16) NOT NULL, outcome VARCHAR(500) NULL,
    received_at BIGINT NOT NULL, handled_at BIGINT NULL`,

  webhook_tally: `
    name VARCHAR(32) NOT NULL PRIMARY KEY, number BIGINT NOT NULL, last_at BIGINT NOT NULL`,

  // A comparison of both sides. asks: what it was asked for; position: where it goes on; tally: what it has counted.
  reconciliation: `
    id ${id}, subject VARCHAR(9) NOT NULL, asks VARCHAR(1000) NOT NULL, state VARCHAR(8) NOT NULL,
    phase VARCHAR(8) NOT NULL, position VARCHAR(1000) NULL, tally ${longText} NOT NULL, reason VARCHAR(1000) NULL,
    actor VARCHAR(255) NOT NULL, started_at BIGINT NOT NULL, progress_at BIGINT NOT NULL, ended_at BIGINT NULL`,

  // fields: what differs, as JSON. Totals are text: a sum need not fit into a number.
  reconcile_finding: `
    id ${id}, run_id BIGINT NOT NULL, kind VARCHAR(9) NOT NULL, cause VARCHAR(16) NOT NULL,
    entity VARCHAR(16) NOT NULL, source_key VARCHAR(255) NOT NULL, number VARCHAR(255) NULL,
    service_id VARCHAR(255) NULL, reason VARCHAR(1000) NOT NULL, fields ${longText} NOT NULL,
    day CHAR(10) NULL, currency VARCHAR(16) NULL, erp_total VARCHAR(40) NULL, service_total VARCHAR(40) NULL`,

  // day: empty where the ERP has none.
  reconcile_sum: `
    run_id BIGINT NOT NULL, day VARCHAR(10) NOT NULL, currency VARCHAR(16) NOT NULL, erp_records INT NOT NULL,
    erp_total VARCHAR(40) NOT NULL, service_records INT NOT NULL, service_total VARCHAR(40) NOT NULL,
    PRIMARY KEY (run_id, day, currency)`,

  // content_hash: of what the ERP has, or of what it refused where refusal is not null; that is tried again at next_try_at.
  write_back_row: `
    kind VARCHAR(16) NOT NULL, record_key VARCHAR(255) NOT NULL, content_hash CHAR(64) NOT NULL,
    refusal VARCHAR(1000) NULL, next_try_at BIGINT NULL,
    PRIMARY KEY (kind, record_key)`,

  // The records that are due for write-back, marked by the transactions that change them.
  write_back_due: `
    id ${id}, kind VARCHAR(16) NOT NULL, record_key VARCHAR(255) NOT NULL`,

  // sweep_after is null between two sweeps.
  write_back_target: `
    kind VARCHAR(16) NOT NULL PRIMARY KEY, fingerprint CHAR(64) NOT NULL, sweep_after VARCHAR(300) NULL,
    swept_at BIGINT NULL, succeeded_at BIGINT NULL, failures INT NOT NULL DEFAULT 0, failing_since BIGINT NULL,
    failure VARCHAR(1000) NULL, next_try_at BIGINT NOT NULL DEFAULT 0`,
});

const indexes = [
  // New rows are found without reading past a hundred thousand messages that are backlog, or another source's.
  'outbox_message_due ON outbox_message (state, entity, source, is_backlog, next_attempt_at, id)',
  // With the entity: customers have no customer, and whether an order has none is asked while they all wait.
  'outbox_message_customer ON outbox_message (customer_key, entity)',
  'outbox_message_number ON outbox_message (number)',
  'outbox_message_folded ON outbox_message (folded_key, entity)',
  'binding_read ON binding (entity, read_state, read_asked_at)',
  'binding_folded ON binding (folded_key, entity)',
  'binding_number ON binding (number)',
  'replaced_record_by ON replaced_record (replaced_by, entity)',
  'attempt_open ON attempt (verdict, epoch)',
  'audit_log_record ON audit_log (source_key, id)',
  'audit_log_at ON audit_log (at)',
  'audit_log_event ON audit_log (event, id)',
  'alert_untold ON alert (over_told_at, next_try_at)',
  'invoice_last_listed ON invoice (last_listed_at)',
  // With all that counts and sums need: the list of unpaid invoices is added up without reading its rows.
  'invoice_unlisted ON invoice (unlisted_at, due_date, invoice_no, amount)',
  'invoice_drop_held ON invoice (drop_held_at)',
  'invoice_staging_number ON invoice_staging (invoice_no)',
  'reconciliation_state ON reconciliation (state, id)',
  'reconcile_finding_run ON reconcile_finding (run_id, id)',
  'reconcile_finding_record ON reconcile_finding (source_key, entity)',
  'webhook_event_state ON webhook_event (state, received_at)',
  'webhook_event_received ON webhook_event (received_at)',
  'write_back_row_due ON write_back_row (kind, next_try_at)',
  'write_back_due_kind ON write_back_due (kind, id)',
];
