import { type Finding, findingsOf, type Part } from './finding.js';

/** The database's own words about itself. */
export interface ServerFacts {
  version: string;
  charset: string;
  /** The server's own time zone. */
  zone: string;
  /** Its clock minus ours. */
  clockAheadMs: number;
}

const toleratedMs = 5_000;

/** Pure. */
export function judgeServer(part: Part & ('erp' | 'store'), facts: ServerFacts): Finding[] {
  const finding = findingsOf(part);
  const { version, charset, zone, clockAheadMs } = facts;
  const seconds = Math.round(Math.abs(clockAheadMs) / 1000);
  const findings = [finding('ok', `${version}; charset ${charset}; time zone of the server ${zone}.`)];
  if (!/utf-?(8|16)|UTF-?(8|16)/.test(charset))
    findings.push(
      finding('note', `The charset ${charset} has no room for every letter; what it lacks is lost in the ERP already.`),
    );
  if (Math.abs(clockAheadMs) > toleratedMs)
    findings.push(
      finding(
        'warning',
        `Its clock is ${seconds} s ${clockAheadMs > 0 ? 'ahead of' : 'behind'} the clock of this machine.`,
        'Synchronise both clocks: timedatectl set-ntp true',
      ),
    );
  return findings;
}

/** The account of the ERP has to read, and nothing else. Pure. @param statements what makes an account that only reads */
export function judgeRights(writing: readonly string[], statements: readonly string[]): Finding {
  const finding = findingsOf('erp');
  if (writing.length === 0) return finding('ok', 'The account can read only.');
  return finding(
    'warning',
    `The account can write to the ERP: ${writing.slice(0, 5).join('; ')}${writing.length > 5 ? ` and ${writing.length - 5} more` : ''}. Waybill reads in transactions that are read-only, but a stolen password is not.`,
    ...statements,
  );
}

/** Row-level security hides rows without an error. Pure. */
export function judgeHiddenTables(tables: readonly string[], user: string): Finding[] {
  if (tables.length === 0) return [];
  return [
    findingsOf('erp')(
      'warning',
      `Row-level security is active for this account in ${tables.slice(0, 5).join(', ')}: rows that it hides do not exist for Waybill, and count as deleted when a policy changes.`,
      `ALTER ROLE ${user} BYPASSRLS;`,
      'or give the account a policy with USING (true) on each of these tables',
    ),
  ];
}
