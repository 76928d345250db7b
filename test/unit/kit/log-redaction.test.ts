import { expect } from 'chai';
import { describeError, redactText } from '../../../kit/log-redaction.ts';

describe('what a log contains', () => {
  it('has texts of 1,000 characters, and a mark where there was more', () => {
    expect(redactText('x'.repeat(1_000))).to.equal('x'.repeat(1_000));
    expect(redactText('x'.repeat(1_001))).to.equal(`${'x'.repeat(1_000)}…`);
    expect(describeError(new Error('x'.repeat(5_000_000))).message).to.equal(`${'x'.repeat(1_000)}…`);
  });

  it('is no more of an error than named fields of bounded length', () => {
    const error = Object.assign(new Error('fault'), {
      name: 'x'.repeat(5_000),
      args: ['a prompt'],
      config: { token: 'secret' },
    });
    error.stack = `Error: fault\n${'    at place\n'.repeat(5_000)}`;
    const described = describeError(error);
    expect(Object.keys(described)).to.have.members(['type', 'message', 'stack']);
    expect(described.type).to.have.lengthOf(100);
    expect(described.stack!.split('\n')).to.have.lengthOf(20);
  });

  it('goes four causes deep', () => {
    let error = new Error('0');
    for (let depth = 1; depth <= 100; depth++) error = new Error(String(depth), { cause: error });
    const messages = [];
    for (
      let each = describeError(error) as ReturnType<typeof describeError> | undefined;
      each;
      each = each.cause
    )
      messages.push(each.message);
    expect(messages).to.deep.equal(['100', '99', '98', '97', '96']);
  });
});
