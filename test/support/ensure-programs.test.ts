import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { alone, ensurePrograms, type Machine } from './ensure-programs.js';
import { neededPrograms } from './needed-programs.js';

const { mariadb: MARIADB, postgres: POSTGRES } = neededPrograms;

const DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\n';
const UBUNTU = 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n';
const FEDORA = 'NAME="Fedora Linux"\nID=fedora\nSUPPORT_URL="https://ask.example/debian"\n';

/** A machine that remembers what was run on it; installing makes the server's programs appear. */
function machine(options: Partial<Machine> & { installed?: readonly string[]; aptGetWorks?: boolean }) {
  const installed = new Set(['apt-get', ...(options.installed ?? [])]);
  const commands: string[] = [];
  const fake: Machine = {
    isRoot: true,
    osRelease: DEBIAN,
    find: (program) => (installed.has(program) ? `/fake/${program}` : undefined),
    run(program, programArguments) {
      commands.push([program, ...programArguments].join(' '));
      if (options.aptGetWorks === false) throw new Error('exit code 100');
      if (programArguments.includes('install'))
        for (const name of [...MARIADB.programs, ...POSTGRES.programs]) installed.add(name);
    },
    write: (file, text) => void commands.push(`write ${file}: ${text.trim()}`),
    remove: (file) => void commands.push(`remove ${file}`),
    say: () => {},
    alone: (work) => work(),
    ...options,
  };
  return { fake, commands };
}

describe('making sure of the programs that tests need', () => {
  it('runs nothing where they are installed', () => {
    const { fake, commands } = machine({ installed: MARIADB.programs });
    ensurePrograms(MARIADB, fake);
    expect(commands).to.deep.equal([]);
  });

  for (const [name, osRelease] of Object.entries({ DEBIAN, UBUNTU })) {
    it(`installs them as root on ${name}, after an update, without removing anything`, () => {
      const { fake, commands } = machine({ osRelease });
      ensurePrograms(MARIADB, fake);
      expect(commands).to.deep.equal([
        '/fake/apt-get update --quiet',
        '/fake/apt-get install --yes --quiet --no-install-recommends --no-remove -o DPkg::Lock::Timeout=300 mariadb-server-core mariadb-client-core',
      ]);
    });
  }

  const file = '/etc/postgresql-common/createcluster.d/waybill-tests.conf';
  for (const aptGetWorks of [true, false]) {
    it(`keeps PostgreSQL’s package from starting a server of the system’s own, ${aptGetWorks ? 'then leaves no trace' : 'also where apt-get fails'}`, () => {
      const { fake, commands } = machine({ aptGetWorks });
      try {
        ensurePrograms(POSTGRES, fake);
      } catch (error) {
        if (aptGetWorks) throw error;
      }
      expect(commands[0]).to.equal(`write ${file}: create_main_cluster = false`);
      if (aptGetWorks) expect(commands[2]).to.match(/ install .* postgresql$/);
      expect(commands.at(-1)).to.equal(`remove ${file}`);
    });
  }

  it('installs nothing that another process installed while this one waited for it', () => {
    const installed: string[] = [];
    const { fake, commands } = machine({
      find: (program) => (program === 'apt-get' || installed.includes(program) ? `/fake/${program}` : undefined),
      alone(work) {
        installed.push(...MARIADB.programs);
        work();
      },
    });
    ensurePrograms(MARIADB, fake);
    expect(commands).to.deep.equal([]);
  });

  it('keeps every other process out while one installs, and only so long', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'waybill-install-lock-')), 'lock');
    const others = () => spawnSync('flock', ['--nonblock', file, 'true']).status;
    let during: number | null = null;
    alone(() => (during = others()), file);
    expect([during, others()]).to.deep.equal([1, 0]);
    rmSync(dirname(file), { recursive: true });
  });

  it('installs them when one is missing', () => {
    const { fake, commands } = machine({ installed: ['mariadbd'] });
    ensurePrograms(MARIADB, fake);
    expect(commands).to.have.length(2);
  });

  const others: [string, Partial<Machine>][] = [
    ['an ordinary user', { isRoot: false }],
    ['another distribution', { osRelease: FEDORA }],
    ['an unknown system', { osRelease: '' }],
    ['a Debian without apt-get', { find: () => undefined }],
  ];
  for (const [who, options] of others) {
    it(`tells ${who} what to install and runs nothing`, () => {
      const { fake, commands } = machine(options);
      expect(() => ensurePrograms(MARIADB, fake)).to.throw(
        /can't find mariadbd and mariadb-install-db.*apt-get install mariadb/s,
      );
      expect(commands).to.deep.equal([]);
    });
  }

  it('says what to install when apt-get fails', () => {
    const { fake } = machine({ aptGetWorks: false });
    expect(() => ensurePrograms(MARIADB, fake)).to.throw(/apt-get failed.*apt-get install mariadb-server/s);
  });
});
