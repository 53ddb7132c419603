import { expect } from 'chai';
import { actionCommands } from '../../../src/cli/actions/action-commands.js';
import { actionNames, actionOf } from '../../../src/operator/actions/actions.js';
import { labelsOf } from '../../../src/words/en/action-labels.js';

describe('the table of actions', () => {
  const withCommand = actionNames.filter((name) => actionOf(name).command !== undefined);

  for (const name of actionNames)
    it(`names each input of ${name}, for a page and for a terminal`, () => {
      const { inputs, command, offer } = actionOf(name);
      const asked = command || offer ? Object.keys(inputs).filter((one) => one !== 'first') : [];
      expect(Object.keys(labelsOf(name).inputs ?? {})).to.include.members(asked);
    });

  for (const name of withCommand)
    it(`makes the command of ${name} from it, with a summary and an example`, () => {
      const { path = [], choice } = actionOf(name).command ?? {};
      const made = actionCommands(...path.slice(0, -1)).find((one) => one.name() === path.at(-1));
      const flags = made?.options.map(({ long }) => long) ?? [];
      expect(flags).to.include.members(['--reason', '--yes', '--json', ...(choice ? [`--${choice}`] : [])]);
      expect(made?.description()).to.not.equal('');
    });

  it('offers for a list or a cause only what works on many messages', () => {
    const offered = actionNames.filter((name) => actionOf(name).onList || actionOf(name).causes);
    expect(offered.map((name) => actionOf(name).subject)).to.satisfy((subjects: string[]) =>
      subjects.every((one) => one === 'messages' || one === 'held'),
    );
    expect(offered.filter((name) => actionOf(name).isFinal)).to.deep.equal([]);
  });
});
