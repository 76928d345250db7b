import { expect } from 'chai';
import { isNotConnected, readConnectionFailure } from '../../../kit/connection-error.ts';

describe('what the error of a connection means', () => {
  for (const [code, failure, isUnsent] of [
    ['ECONNREFUSED', 'refused', true],
    ['EHOSTUNREACH', 'unreachable', true],
    ['UND_ERR_CONNECT_TIMEOUT', 'connect_timeout', true],
    ['ETIMEDOUT', 'connect_timeout', true],
    ['ENOTFOUND', 'unresolved', false],
    ['UND_ERR_DESTROYED', 'closed', false],
    ['ECONNRESET', 'lost', false],
    ['UND_ERR_SOCKET', 'lost', false],
    ['UND_ERR_HEADERS_TIMEOUT', 'response_timeout', false],
    ['ENOENT', null, false],
  ] as const)
    it(`is ${failure ?? 'nothing'} for ${code}`, () => {
      const error = Object.assign(new Error(), { code });
      expect([readConnectionFailure(error), isNotConnected(error)]).to.deep.equal([failure, isUnsent]);
    });

  it('is a lost connection where the kernel gives up on one that stands', () => {
    const error = Object.assign(new Error(), { code: 'ETIMEDOUT', syscall: 'read' });
    expect([readConnectionFailure(error), isNotConnected(error)]).to.deep.equal(['lost', false]);
  });

  it('is nothing for what is no error', () => {
    for (const value of [null, undefined, 'ECONNREFUSED', {}])
      expect(readConnectionFailure(value)).to.equal(null);
  });
});
