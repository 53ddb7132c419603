import { join } from 'node:path';
import { storeDataSource } from '../../../src/store/data-source.js';
import { migrations } from '../../../src/store/migration-list.js';
import { closeIdle, realFs } from '../machine/intercept.js';
import type { Dice } from './dice.js';
import type { Operations } from './operation.js';
import type { World } from './world.js';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

export const storeFiles = ['waybill.sqlite', 'waybill.sqlite-wal', 'waybill.sqlite-shm'];

const storeOf = ({ folder }: World) => join(folder, 'store');
/** The last backups of the store; whoever restores one takes any of them. */
const mostCopies = 3;
const copyOf = ({ folder }: World, nth: number) => join(folder, `copy-${nth}`);
const anyCopy = (world: World, dice: Dice) => copyOf(world, dice.below(Math.min(world.copies, mostCopies)));

/** As a snapshot of the disk has it: all files at one moment. */
function copyFiles(from: string, to: string): boolean {
  if (!realFs.existsSync(join(from, storeFiles[0] as string))) return false;
  realFs.mkdirSync(to, { recursive: true });
  for (const name of storeFiles) {
    realFs.rmSync(join(to, name), { force: true });
    if (name.endsWith('-shm') || !realFs.existsSync(join(from, name))) continue;
    realFs.copyFileSync(join(from, name), join(to, name));
  }
  return true;
}

function removeStore(world: World): void {
  closeIdle();
  for (const name of storeFiles) realFs.rmSync(join(storeOf(world), name), { force: true });
}

/** A backup of the store, as a machine takes one every so often. */
export function copyStore(world: World): boolean {
  if (!copyFiles(storeOf(world), copyOf(world, world.copies % mostCopies))) return false;
  world.copies++;
  return true;
}

async function stopDaemon(world: World, how: 'stop' | 'kill'): Promise<void> {
  const { daemon } = world;
  if (!daemon?.isThere) return;
  daemon.thaw();
  if (how === 'kill') {
    daemon.kill();
    world.struckMs = Math.min(world.struckMs, world.machine.elapsedMs);
  } else {
    daemon.signal('SIGTERM');
    await world.machine.run(minuteMs, () => !daemon.isThere);
    if (daemon.isThere) {
      world.wrong.push('hang: the daemon did not stop within a minute of SIGTERM');
      daemon.kill();
    }
  }
  world.daemon = null;
}

/** Time passes, and what waits for it goes on. */
export const timeOperations: Operations = {
  'a moment passes': async (world, dice) => {
    const ms = dice.pick([1, 5, 30]) * secondMs;
    await world.pass(ms);
    return `${ms / secondMs} s pass`;
  },
  'minutes pass': async (world, dice) => {
    const ms = dice.pick([1, 2, 4]) * minuteMs;
    await world.pass(ms);
    return `${ms / minuteMs} min pass`;
  },
  'hours pass': async (world, dice) => {
    const ms = dice.pick([0.25, 1, 3, 25, 60]) * hourMs;
    const wasUp = world.daemon?.isThere === true;
    // A daemon that idles for hours shows nothing, and takes long to simulate.
    await stopDaemon(world, 'stop');
    await world.pass(ms);
    if (wasUp) world.startDaemon();
    return `${ms / hourMs} h pass${wasUp ? ' while the daemon is stopped; it starts again' : ''}`;
  },
};

/** Operations on the machine, its clock, its disk and its processes. */
export const machineOperations: Operations = {
  'start the daemon': async (world) => {
    if (world.daemon?.isThere) return null;
    world.startDaemon();
    await world.pass(30 * secondMs);
    return 'the daemon starts, and 30 s pass';
  },
  'start a daemon beside it': async (world) => {
    if (!world.daemon?.isThere) return null;
    const other = world.spawn(['daemon']);
    await world.pass(20 * secondMs);
    other.signal('SIGTERM');
    await world.pass(30 * secondMs);
    if (other.isThere) other.kill();
    return 'a second daemon stands by for 20 s, and is stopped';
  },
  'stop the daemon': async (world) => {
    if (!world.daemon?.isThere) return null;
    await stopDaemon(world, 'stop');
    return 'the daemon is stopped';
  },
  'kill the daemon': async (world, dice) => {
    if (!world.daemon?.isThere) return null;
    await world.pass(dice.below(3_000));
    await stopDaemon(world, 'kill');
    return 'the daemon is killed';
  },
  'freeze the daemon': (world) => {
    if (world.daemon?.state !== 'running') return null;
    world.daemon.freeze();
    return 'the daemon stands still';
  },
  'let all go on that stand still': async (world) => {
    const frozen = world.machine.processes.filter(({ state }) => state === 'frozen');
    if (frozen.length === 0) return null;
    for (const one of frozen) one.thaw();
    await world.machine.run(2 * minuteMs, () => frozen.every((one) => one === world.daemon || one.state !== 'running'));
    return `${frozen.map(({ argv }) => argv.join(' ')).join(' and ')} goes on`;
  },
  'set the clock': (world, dice) => {
    const { machine } = world;
    machine.wallOffsetMs = dice.pick([0, 0, -2, 2, -45, 45, -26 * 60, 26 * 60, 800 * 24 * 60]) * minuteMs;
    world.wallWasAhead ||= machine.wallOffsetMs > 0;
    return `the clock is set ${machine.wallOffsetMs / minuteMs} min off`;
  },
  'the machine sleeps': async (world, dice) => {
    const ms = dice.pick([1, 20, 180]) * minuteMs;
    const awake = world.machine.processes.filter(({ state }) => state === 'running');
    for (const one of awake) one.freeze();
    await world.pass(ms);
    world.machine.sleptMs += ms;
    for (const one of awake) one.thaw();
    await world.pass(secondMs);
    return `the machine sleeps for ${ms / minuteMs} min`;
  },
  'the disk is full': (world) => {
    world.disk.set(storeOf(world), 'ENOSPC');
    return 'the disk of the store is full';
  },
  'the disk is read-only': (world) => {
    world.disk.set(storeOf(world), 'EROFS');
    return 'the disk of the store is read-only';
  },
  'the witness can not be written': (world) => {
    world.disk.set(join(storeOf(world), 'witness'), 'EROFS');
    return 'the folder of the witness is read-only';
  },
  'the witness can not be read': (world) => {
    world.disk.set(join(storeOf(world), 'witness'), 'EACCES');
    return 'the folder of the witness can not be read';
  },
  'the disk is well again': (world) => {
    world.disk.clear();
    return 'the disk is well again';
  },
  'the witness is lost': (world) => {
    realFs.rmSync(join(storeOf(world), 'witness'), { recursive: true, force: true });
    world.lostWitness = true;
    return 'the witness is lost';
  },
  'put the copy in the place of the store': async (world, dice) => {
    if (world.copies === 0) return null;
    await stopDaemon(world, 'stop');
    removeStore(world);
    copyFiles(anyCopy(world, dice), storeOf(world));
    world.storeWasReplaced();
    return 'the store is replaced by its older copy, while the daemon is stopped';
  },
  'put the copy under the daemon': (world, dice) => {
    if (world.copies === 0 || !world.daemon?.isThere) return null;
    removeStore(world);
    copyFiles(anyCopy(world, dice), storeOf(world));
    world.storeWasReplaced();
    return 'the store is replaced by its older copy under the running daemon';
  },
  'lose the store': async (world) => {
    await stopDaemon(world, 'kill');
    removeStore(world);
    world.storeWasReplaced();
    return 'the store is lost';
  },
  'an earlier version had the store': async (world, dice) => {
    await stopDaemon(world, 'stop');
    const settings = { type: 'sqlite', file: world.settings.store.file } as Parameters<typeof storeDataSource>[0];
    const isNew = !realFs.existsSync(world.settings.store.file as string);
    const source = await storeDataSource(settings);
    const back = 1 + dice.below(migrations.length - 1);
    // The first one made the store.
    if (isNew) Object.assign(source.options, { migrations: (source.options.migrations as unknown[]).slice(0, -back) });
    let done = isNew ? back : 0;
    try {
      await source.initialize();
      if (isNew) await source.runMigrations({ transaction: 'all' });
      for (; done < back; done++) await source.undoLastMigration({ transaction: 'all' });
    } catch {
      // It goes no further back, or another process is at work in it.
    } finally {
      if (source.isInitialized) await source.destroy();
    }
    return done === 0 ? null : `the store is as a version before the last ${done} changes of its schema has it`;
  },
  'lose the store under the daemon': (world) => {
    if (!world.daemon?.isThere) return null;
    removeStore(world);
    world.storeWasReplaced();
    return 'the store is removed under the running daemon';
  },
};
