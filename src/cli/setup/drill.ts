import { open } from 'node:fs/promises';
import type { Settings } from '../../config/settings.js';
import { type DrillResult, drill, type NamedRecord } from '../../operator/drill.js';
import { kindsInSideTables, sideTableBindings } from '../../operator/side-table-bindings.js';
import { createLogger } from '../../ops/logger.js';
import type { ExportedBindings } from '../../outbound/recovery/take-over-bindings.js';
import { copyWholeFile } from '../../store/whole-file.js';
import { openBindings } from '../bindings-file.js';
import { type CommandApp, exitCode, UsageError } from '../command.js';
import { inScratchFile } from '../given-file.js';

interface Tried extends DrillResult {
  /** A file as it was given, or the side tables. */
  proof: string;
  /** When an export was written; null: it says nothing of it. */
  of: string | null;
}

const maxNamed = 5;

/**
 * Carries out a recovery with each proof on a store that is thrown away, and says how much each would bring back today.
 * @param files exports of the bindings, and copies of a SQLite store
 */
export async function tryRecovery(app: CommandApp, files: readonly string[]): Promise<number> {
  const { settings, output } = app;
  const tried: Tried[] = [];
  for (const file of files) tried.push(await tryFile(app, file));
  const sideTables = await trySideTables(app);
  if (sideTables) tried.push(sideTables);
  const todo = adviceFor(settings, files, sideTables !== null);
  output.json({ tried, todo });
  for (const one of tried) output.lines(...inWords(one), '');
  output.lines(
    tried.length === 0 && 'No proof was tried: of a store that is lost, every record would wait for a person.',
    ...todo,
    'Only a store that is thrown away was recovered. Nothing was sent, and nothing written into the store or the ERP.',
  );
  if (tried.some(({ contradicted }) => contradicted.length > 0)) return exitCode.failed;
  return tried.some(({ unproven, doubted }) => unproven + doubted === 0) ? exitCode.done : exitCode.waitsForPerson;
}

async function tryFile(app: CommandApp, file: string): Promise<Tried> {
  const isCopy = (await beginningOf(file)).startsWith('SQLite format 3');
  if (isCopy) return onScratch(app, null, { proof: file, of: null }, (scratch) => copyWholeFile(file, scratch));
  const exported = await openBindings(file, app.settings);
  return onScratch(app, () => exported, { proof: file, of: exported.exportedAt });
}

async function trySideTables(app: CommandApp): Promise<Tried | null> {
  if (!app.settings.writeBack.enabled || kindsInSideTables(app).length === 0) return null;
  const writer = await app.writer();
  if (writer === null) return null;
  return onScratch(app, (context) => sideTableBindings(context, writer), { proof: 'side tables', of: null });
}

async function onScratch(
  app: CommandApp,
  proof: ((context: CommandApp['context']) => ExportedBindings) | null,
  named: Pick<Tried, 'proof' | 'of'>,
  prepare: (scratch: string) => Promise<void> = async () => undefined,
): Promise<Tried> {
  const reader = await app.reader();
  await reader.check();
  // The log does not report the findings of a drill.
  const log = createLogger({ level: 'error', stream: 'stderr', secrets: app.secrets.all });
  return inScratchFile(app.settings, async (scratch) => {
    await prepare(scratch);
    return { ...named, ...(await drill({ ...app.context, log }, reader, scratch, proof)) };
  });
}

/** @throws UsageError for a file that can't be tried here */
async function beginningOf(file: string): Promise<string> {
  const handle = await open(file).catch((error: Error) => {
    throw new UsageError(`${file} can not be read: ${error.message}`);
  });
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(100), 0, 100, 0);
    const beginning = buffer.toString('latin1', 0, bytesRead);
    if (beginning.startsWith('{"waybill":"backup"'))
      throw new UsageError(
        `${file} is the copy of a store on a server, which is tried by restoring it into another database. Give an export of the bindings: waybill bindings export.`,
      );
    return beginning;
  } finally {
    await handle.close();
  }
}

function inWords({ proof, of, proven, unproven, first, contradicted, doubted }: Tried): string[] {
  const at = of === null ? '' : ` of ${of}`;
  return [
    `With ${proof}${at}: ${proven} of ${proven + unproven + contradicted.length} records at the service are known again.`,
    ...(unproven > 0 ? [`  ${unproven} are not proven: ${namesOf(first, unproven)}`] : []),
    ...(doubted > 0 ? [`  ${doubted} that were never sent could not be told from those, and wait as well.`] : []),
    ...(contradicted.length > 0
      ? [`  ${contradicted.length} would get another id than they have: ${namesOf(contradicted, contradicted.length)}`]
      : []),
  ];
}

function namesOf(records: readonly NamedRecord[], count: number): string {
  const names = records.slice(0, maxNamed).map(({ entity, sourceKey, number }) => `${entity} ${number ?? sourceKey}`);
  return `${names.join(', ')}${count > names.length ? ` and ${count - names.length} more` : ''}.`;
}

/** Settings and files that would prove more records on the day. */
function adviceFor(settings: Settings, files: readonly string[], hasSideTables: boolean): string[] {
  const { endpoints } = settings.service;
  const lookUp = endpoints.lookUpOrder;
  return [
    ...(files.length === 0
      ? ['Keep an export on another machine each night (waybill bindings export FILE), and try it: --drill FILE.']
      : []),
    ...(hasSideTables
      ? []
      : ['Set writeBack.enabled: then the ids are also in the ERP, for recover --side-tables (docs/write-back.md).']),
    lookUp
      ? `What nothing proves is looked up at the service (recover --look-up)${lookUp.absenceProves ? '' : '; what it does not find waits for a person'}.`
      : 'Set service.endpoints.lookUpOrder and lookUpCustomer: then recover --look-up asks the service for the rest.',
  ];
}
