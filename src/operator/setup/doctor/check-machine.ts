import { execFile } from 'node:child_process';
import { access, constants, stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Settings } from '../../../config/settings.js';
import { databaseFile } from '../../../model/database-place.js';
import { type Finding, findingsOf, guarded } from './finding.js';

const finding = findingsOf('machine');
const scarceBytes = 1024 ** 3;
const tooLittleBytes = 100 * 1024 ** 2;

/** Asks systemd for the properties of the unit, a line each; null where there is no systemd. */
export type AskSystemd = () => Promise<string | null>;

/** Disk, files and unit of this machine. */
export async function checkMachine(settings: Settings, askSystemd: AskSystemd = unitOfSystemd): Promise<Finding[]> {
  const { store, erp } = settings;
  const erpFile = databaseFile(erp);
  const files = [databaseFile(store), store.witnessFile, store.secondWitnessFile].filter(
    (file) => typeof file === 'string',
  );
  return [
    ...(await guarded('machine', () => checkDisk([...new Set(files.map((file) => dirname(resolve(file))))]))),
    ...(await guarded('machine', () => checkModes(files.map((file) => resolve(file))))),
    ...(erpFile === null ? [] : await checkErpFile(resolve(erpFile))),
    ...(await guarded('machine', async () => judgeUnit(await askSystemd()))),
  ];
}

async function checkDisk(folders: readonly string[]): Promise<Finding[]> {
  const disks = new Map<number, Finding>();
  for (const folder of folders) {
    const there = await nearestFolder(folder);
    const { dev } = await stat(there);
    const { bavail, bsize } = await statfs(there);
    if (!disks.has(dev)) disks.set(dev, judgeDisk(folder, bavail * bsize));
  }
  return [...disks.values()];
}

/** The folder, or the one in which it will be made. */
async function nearestFolder(folder: string): Promise<string> {
  const isThere = await stat(folder).then(
    () => true,
    () => false,
  );
  return isThere || dirname(folder) === folder ? folder : nearestFolder(dirname(folder));
}

/** Pure. */
export function judgeDisk(folder: string, freeBytes: number): Finding {
  const free = `${(freeBytes / 1024 ** 3).toFixed(1)} GiB are free for ${folder}.`;
  if (freeBytes >= scarceBytes) return finding('ok', free);
  return finding(
    freeBytes < tooLittleBytes ? 'error' : 'warning',
    `${free} On a full disk Waybill stops: it sends nothing that it can't put on record.`,
    'Free space there, or move store.file and store.witnessFile',
  );
}

async function checkModes(files: readonly string[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const file of files) {
    const facts = await stat(file).catch(() => null);
    if (facts) findings.push(...judgeMode(file, facts.mode));
  }
  return findings;
}

/** The store and its witness hold order data. Pure. */
export function judgeMode(file: string, mode: number): Finding[] {
  if ((mode & 0o077) === 0) return [];
  return [
    finding('warning', `${file} is open to other accounts (mode ${(mode & 0o777).toString(8)}).`, `chmod 600 ${file}`),
  ];
}

async function checkErpFile(file: string): Promise<Finding[]> {
  const canWrite = await access(file, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!canWrite || process.getuid?.() === 0) return [];
  const what = `This account can write to ${file}. Waybill opens the ERP for reading alone.`;
  return [
    findingsOf('erp')('warning', what, `Give this account read access only, such as: setfacl -m u:waybill:r ${file}`),
  ];
}

const unit = 'waybill.service';

async function unitOfSystemd(): Promise<string | null> {
  const properties = '--property=LoadState,ActiveState,SubState,UnitFileState,NRestarts';
  try {
    return (await promisify(execFile)('systemctl', ['show', unit, properties], { timeout: 5_000 })).stdout;
  } catch {
    return null;
  }
}

/** Pure. @param shown what `systemctl show` says */
export function judgeUnit(shown: string | null): Finding[] {
  const facts = new Map((shown ?? '').split('\n').map((line) => [line.split('=')[0] ?? '', line.split('=')[1] ?? '']));
  if (shown === null || !facts.has('LoadState'))
    return [finding('note', 'systemd does not answer, so nothing is known of the daemon.')];
  if (facts.get('LoadState') !== 'loaded')
    return [
      finding('note', `${unit} is not installed: nothing runs by itself.`, 'docs/operating.md says how to install it'),
    ];
  const active = facts.get('ActiveState') ?? '';
  const restarts = Number(facts.get('NRestarts') ?? 0);
  return [
    active === 'active'
      ? finding('ok', `${unit} is running (${facts.get('SubState')}).`)
      : finding(
          active === 'failed' ? 'error' : 'warning',
          `${unit} is ${active}.`,
          `journalctl -u ${unit} -n 50`,
          `systemctl start ${unit}`,
        ),
    ...(facts.get('UnitFileState') === 'enabled'
      ? []
      : [finding('warning', `${unit} does not start with the machine.`, `systemctl enable ${unit}`)]),
    ...(restarts > 3
      ? [finding('warning', `${unit} was restarted ${restarts} times.`, `journalctl -u ${unit} -p warning`)]
      : []),
  ];
}
