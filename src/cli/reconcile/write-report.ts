import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Reconciliation } from '../../operator/reconcile/reconcile-rows.js';
import { writeWholeFile } from '../../store/whole-file.js';
import {
  findingsCsv,
  measure,
  type ReportEnd,
  type ReportFile,
  type ReportParts,
  reportName,
  reportPage,
  sumsCsv,
} from '../../telling/report.js';
import type { CommandApp } from '../command.js';
import { writeGivenFile } from '../given-file.js';

/** Writes all that a comparison has found as CSV. */
export async function writeFindings(app: CommandApp, run: Reconciliation, given: string): Promise<void> {
  await writeGivenFile(given, app.settings, (file) => writeParts(file, findingsCsv(partsOf(app), run)));
}

/**
 * Writes the report of a month: what was found and the sums by day as CSV, and a page that names both files with their
 * control sums. Files that are there already stay.
 */
export async function writeReport(app: CommandApp, run: Reconciliation, folder: string, month: string): Promise<void> {
  await mkdir(resolve(folder), { recursive: true });
  const parts = partsOf(app);
  const named = (end: ReportEnd) => join(resolve(folder), reportName(run, month, end));
  const found = await writeParts(named('-differences.csv'), findingsCsv(parts, run));
  const sums = await writeParts(named('-sums.csv'), sumsCsv(parts, run));
  const files = [
    { ...found, name: reportName(run, month, '-differences.csv') },
    { ...sums, name: reportName(run, month, '-sums.csv') },
  ];
  await writeParts(named('.html'), reportPage(parts, run, { period: month, files }));
  app.output.line(`Report: ${named('.html')}`);
}

function partsOf({ store, settings, output }: CommandApp): ReportParts {
  return { store, settings, clean: (text) => output.clean(text), time: (ms) => output.time(ms) };
}

async function writeParts(file: string, parts: Parameters<typeof measure>[1]): Promise<ReportFile> {
  let written: ReportFile | undefined;
  await writeWholeFile(file, async (handle) => {
    written = await measure(file, parts, (text) => handle.writeFile(text));
  });
  return written as ReportFile;
}
