import { expect } from 'chai';
import { InitError, Interview, type Question } from '../../../src/cli/setup/interview.js';

const question = { name: 'size', text: 'Which size?' };
const isNumber = (text: string) => (/^\d+$/.test(text) ? null : 'write a number');

describe('the questions of waybill init', () => {
  const answering = (...answers: string[]) => {
    const asked: Question[] = [];
    const ask = async (one: Question) => {
      asked.push(one);
      return answers.shift() ?? '';
    };
    return { asked, ask };
  };

  it('are asked again with what is wrong, until an answer holds', async () => {
    const { asked, ask } = answering('big', '', '12');
    expect(await new Interview(new Map(), ask).answer(question, isNumber)).to.equal('12');
    expect(asked.map(({ text }) => text)).to.deep.equal([
      'Which size?',
      'write a number. Which size?',
      'an answer is needed. Which size?',
    ]);
  });

  it('take the suggestion for an empty answer, and with --yes', async () => {
    const suggested = { ...question, suggestion: '7' };
    expect(await new Interview(new Map(), answering('').ask).answer(suggested, isNumber)).to.equal('7');
    const silent = new Interview(new Map(), null);
    expect(await silent.answer(suggested, isNumber)).to.equal('7');
    expect(silent.open).to.deep.equal([]);
  });

  it('stay open with --yes where no answer is certain', async () => {
    const silent = new Interview(new Map(), null);
    expect(await silent.answer(question, isNumber)).to.equal(null);
    expect(silent.open).to.deep.equal([question]);
  });

  it('are asked again, also what a flag said, with the last answer as the suggestion', async () => {
    const { asked, ask } = answering('', '5', '');
    const interview = new Interview(new Map([['size', '3']]), ask);
    expect(await interview.answer(question)).to.equal('3');
    interview.askAgain('size', 'color');
    expect(await interview.answer(question)).to.equal('3');
    expect(await interview.answer(question)).to.equal('5');
    interview.askAgain('size');
    expect(await interview.answer(question)).to.equal('5');
    expect(asked.map(({ suggestion }) => suggestion)).to.deep.equal(['3', '3', '5']);
  });

  it('are not asked where a flag answers them, and a wrong flag is refused', async () => {
    const { asked, ask } = answering();
    expect(await new Interview(new Map([['size', '3']]), ask).answer(question, isNumber)).to.equal('3');
    expect(asked).to.deep.equal([]);
    const wrong = await new Interview(new Map([['size', 'big']]), ask)
      .answer(question, isNumber)
      .catch((error) => error);
    expect(wrong).to.be.instanceOf(InitError).with.property('message', '--size big: write a number');
  });
});
