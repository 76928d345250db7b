import { expect } from 'chai';
import { findCrashedContainer } from '../../../console/web/deployment/crash.ts';

describe('the message of a crash leads to a log', () => {
  const messages: [string, string | undefined][] = [
    ['engine exited with code 1, 3 restarts: ValueError: no', 'engine'],
    ['init container weights exited with code 2: access denied', 'weights'],
    ['gateway exited with code 9', 'gateway'],
    ['engine image vllm:1 cannot be pulled', undefined],
    ['', undefined],
  ];
  for (const [message, container] of messages)
    it(`${message || 'nothing'}: ${container ?? 'to none'}`, () => {
      expect(findCrashedContainer(message)).to.equal(container);
    });
});
