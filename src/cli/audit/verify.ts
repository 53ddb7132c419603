import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { type Head, headToken } from '../../audit/audit-log.js';
import { parseHeads } from '../../audit/verify-chains.js';
import { auditHeads, exportAudit, verifyAudit } from '../../operator/audit/verify-audit.js';
import { type CommandApp, exitCode, inApp, jsonCommand, UsageError } from '../command.js';
import { readGivenFile, writeGivenFile } from '../given-file.js';

const shownFlaws = 20;

export function verifyCommand(): Command {
  return jsonCommand(
    'verify',
    'Prove that no line of the audit was changed, taken out, moved or put in, or name the first that was.',
    'waybill audit verify --heads audit-heads-2026-11-24.txt',
  )
    .option('--heads <file>', 'heads that `waybill audit head` printed earlier; - is stdin')
    .action(inApp(verify, { readOnly: true }));
}

export function headCommand(): Command {
  return jsonCommand(
    'head',
    'Print the last line of each chain of the audit, to be kept elsewhere: `audit verify --heads` compares.',
    'waybill audit head',
  ).action(
    inApp(
      async ({ store, output }) => {
        const heads = await auditHeads(store);
        output.json(heads);
        output.lines(...heads.map(headToken));
      },
      { readOnly: true },
    ),
  );
}

export function exportCommand(): Command {
  return jsonCommand(
    'export',
    'Write the audit into a new file that can be verified without Waybill.',
    'waybill audit export audit-2026-11-24.txt',
  )
    .argument('<file>', 'a file that does not exist yet (mode 0600). `-` is stdout')
    .action(
      inApp(
        async ({ store, settings, output }, _options: unknown, file: string) => {
          const lines = await writeGivenFile(file, settings, (name) => exportAudit(store, name));
          // Then stdout is the export.
          if (file === '-') return;
          output.json({ file, lines });
          output.line(`${lines} lines are in ${file}.`);
        },
        { readOnly: true },
      ),
    );
}

async function verify({ store, settings, output }: CommandApp, { heads }: { heads?: string }): Promise<number> {
  const noted = heads === undefined ? [] : await readGivenFile(heads, settings, readHeads);
  const { lines, chains, flaws, uncompared } = await verifyAudit(store, noted);
  output.json({ whole: flaws.length === 0, lines, chains, flaws, uncompared: uncompared.map(headToken) });
  if (flaws.length === 0) {
    output.line(`The audit is whole: ${lines} lines in ${chains} chains, each as it was written.`);
    if (uncompared.length === 0) return exitCode.done;
    output.line(
      `${uncompared.length} of ${noted.length} noted heads could not be compared: their lines were pruned, so they prove nothing about what was there. Compare with a later note, and check that retention.auditDays explains it.`,
    );
    return exitCode.waitsForPerson;
  }
  output.lines(
    'The audit is not as it was written:',
    ...flaws.slice(0, shownFlaws).map(({ message }) => `  ${message}`),
    ...(flaws.length > shownFlaws ? [`  and ${flaws.length - shownFlaws} more (--json shows them).`] : []),
  );
  return exitCode.failed;
}

/** @throws UsageError when the file is none of heads */
async function readHeads(file: string): Promise<Head[]> {
  const heads = parseHeads(
    await readFile(file, 'utf8').catch((error: Error) => {
      throw new UsageError(`${file} can not be read: ${error.message}`);
    }),
  );
  if (heads === null || heads.length === 0)
    throw new UsageError(`${file} holds no heads: give a file with the lines that \`waybill audit head\` printed.`);
  return heads;
}
