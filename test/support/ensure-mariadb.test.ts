import { expect } from 'chai';
import { ensureMariaDb, type Machine } from './ensure-mariadb.js';

const DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\n';
const UBUNTU = 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n';
const FEDORA = 'NAME="Fedora Linux"\nID=fedora\nSUPPORT_URL="https://ask.example/debian"\n';

/** A machine that remembers what was run on it; installing makes the server's programs appear. */
function machine(options: Partial<Machine> & { installed?: string[]; aptGetWorks?: boolean }) {
  const installed = new Set(['apt-get', ...(options.installed ?? [])]);
  const commands: string[] = [];
  const fake: Machine = {
    isRoot: true,
    osRelease: DEBIAN,
    find: (program) => (installed.has(program) ? `/fake/${program}` : undefined),
    run(program, programArguments) {
      commands.push([program, ...programArguments].join(' '));
      if (options.aptGetWorks === false) throw new Error('exit code 100');
      if (programArguments.includes('install')) for (const name of BOTH) installed.add(name);
    },
    say: () => {},
    ...options,
  };
  return { fake, commands };
}

const BOTH = ['mariadbd', 'mariadb-install-db'];

describe('making sure of MariaDB', () => {
  it('runs nothing where it is installed', () => {
    const { fake, commands } = machine({ installed: BOTH });
    ensureMariaDb(fake);
    expect(commands).to.deep.equal([]);
  });

  for (const [name, osRelease] of Object.entries({ DEBIAN, UBUNTU })) {
    it(`installs it as root on ${name}, after an update, without removing anything`, () => {
      const { fake, commands } = machine({ osRelease });
      ensureMariaDb(fake);
      expect(commands).to.deep.equal([
        '/fake/apt-get update --quiet',
        '/fake/apt-get install --yes --quiet --no-install-recommends --no-remove mariadb-server-core mariadb-client-core',
      ]);
    });
  }

  it('installs it when only half of it is there', () => {
    const { fake, commands } = machine({ installed: ['mariadbd'] });
    ensureMariaDb(fake);
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
      expect(() => ensureMariaDb(fake)).to.throw(
        /can't find mariadbd and mariadb-install-db.*apt-get install mariadb/s,
      );
      expect(commands).to.deep.equal([]);
    });
  }

  it('says what to install when apt-get fails', () => {
    const { fake } = machine({ aptGetWorks: false });
    expect(() => ensureMariaDb(fake)).to.throw(/apt-get could not install MariaDB.*apt-get install mariadb-server/s);
  });
});
