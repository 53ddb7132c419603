import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AuditEntry, appendAudit } from '../src/audit/audit-log.js';
import { verifyAudit } from '../src/operator/audit/verify-audit.js';
import { openStore } from '../src/store/open-store.js';

export interface AuditResult {
  lines: number;
  writeMicrosecondsPerLine: number;
  verifySeconds: number;
  verifyCpuSeconds: number;
  peakMiB: number;
}

const batch = 200;

/** Measures the time to prove an audit of so many lines, in a SQLite store. */
export async function audit(lines: number): Promise<AuditResult> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-audit-'));
  const { store } = await openStore({ type: 'sqlite', file: join(folder, 'store.sqlite') });
  try {
    const begun = performance.now();
    for (let at = 0; at < lines; at += batch) {
      const entries = Array.from({ length: Math.min(batch, lines - at) }, (_, i) => line(at + i));
      await store.transaction('write lines', (tx) => appendAudit(tx, entries, at));
    }
    const written = performance.now();
    const cpu = process.cpuUsage();
    const { flaws, lines: verified } = await verifyAudit(store);
    const used = process.cpuUsage(cpu);
    if (flaws.length > 0 || verified !== lines) throw new Error('The audit is not whole.');
    return {
      lines,
      writeMicrosecondsPerLine: Math.round((1_000 * (written - begun)) / lines),
      verifySeconds: Math.round((performance.now() - written) / 100) / 10,
      verifyCpuSeconds: Math.round((used.user + used.system) / 100_000) / 10,
      peakMiB: Math.round(process.resourceUsage().maxRSS / 1_024),
    };
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** As delivery writes it of an attempt. */
function line(number: number): AuditEntry {
  const hash = 'a9f0e61a137d86aa9db53465e0801612'.repeat(2);
  return {
    event: 'attempt',
    outcome: 'delivered',
    ...{ entity: 'order', sourceKey: `${100_000 + number}`, messageId: number, attemptId: number },
    actor: 'daemon@office:10021',
    detail: {
      idempotencyKey: hash.slice(0, 36),
      bodyHash: hash,
      startedAt: number,
      durationMs: 12,
      status: 201,
      excerptHash: hash,
    },
  };
}
