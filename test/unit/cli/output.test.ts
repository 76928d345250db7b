import { expect } from 'chai';
import { Output } from '../../../cli/framework/output.ts';

function record(isJSON: boolean) {
  const printed: string[] = [];
  const write = (text: string) => printed.push(text);
  return { printed, output: new Output({ out: write, error: write, isTerminal: false }, isJSON) };
}

describe('the output of berth', () => {
  it('has no character that drives a terminal, as JSON either', () => {
    const json = record(true);
    json.output.show({ line: 'a\u009b2J\u001b' }, () => '');
    expect(json.printed).to.deep.equal(['{"line":"a\\u009b2J\\u001b"}\n']);
    const text = record(false);
    text.output.note('chat: \u001b[2Jaway');
    expect(text.printed).to.deep.equal(['chat: [2Jaway\n']);
  });
});
