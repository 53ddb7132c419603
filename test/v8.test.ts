import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { nextTurn } from '../src/v8.js';

/** Makes garbage and what lives on, in a process that began with the flags of main.ts. @returns its rooms for new objects, in MiB */
const roomsAfter = async (mayGrow: boolean) => {
  const program = `
    import { getHeapSpaceStatistics } from 'node:v8';
    import { keepSmall, makeRoom } from '${new URL('../src/v8.js', import.meta.url)}';
    keepSmall();
    let living = [];
    for (let n = 0; n < 2_000; n++) {
      if (n % 100 === 0) living = [];
      makeRoom(${mayGrow});
      for (let i = 0; i < 500; i++) living.push({ n, i, text: [n, i] });
    }
    console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20);`;
  const flags = ['--input-type=module', '--eval', program];
  return Number((await promisify(execFile)(process.execPath, flags)).stdout);
};

describe('rooms for new objects', () => {
  it('grow while many are made, and no further than pays', async () => {
    expect(await roomsAfter(false)).to.be.at.most(2);
    expect(await roomsAfter(true)).to.be.within(4, 16);
  });
});

describe('turns of the event loop', () => {
  it('are given to one caller each, in the order of asking', async () => {
    let turn = 0;
    const count = () => {
      turn++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const met: { caller: string; turn: number }[] = [];
    await Promise.all(
      ['capture', 'claim', 'settle'].map((caller) => nextTurn().then(() => met.push({ caller, turn }))),
    );
    clearImmediate(counting);
    expect(met.map(({ caller }) => caller)).to.deep.equal(['capture', 'claim', 'settle']);
    expect(new Set(met.map(({ turn }) => turn)).size).to.equal(3);
  });
});
