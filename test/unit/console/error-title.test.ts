import { expect } from 'chai';
import { describeFault } from '../../../console/web/parts/error-title.ts';

const makeFault = (status: number, code: string) => Object.assign(new Error('m'), { status, code });

describe('the title of an error', () => {
  const titles: [number, string, string][] = [
    [503, 'insufficient_quota', 'Credit used up'],
    [402, 'insufficient_quota', 'Credit used up'],
    [404, 'not_found', 'Not found'],
    // Mostly not a change of someone else, and not only of engines.
    [409, 'conflict', 'Not possible now'],
    [502, 'upstream_error', 'No answer from the endpoint'],
    [401, 'invalid_api_key', 'API key not accepted'],
    [0, 'unreachable', 'No connection to the console'],
    [400, 'some_new_code', 'Request refused'],
    [500, 'internal_error', 'Server error'],
  ];
  for (const [status, code, title] of titles)
    it(`of ${status} ${code} is "${title}"`, () => {
      expect(describeFault(makeFault(status, code))).to.equal(title);
    });

  it('says who is offline', () => {
    expect(describeFault(makeFault(0, 'unreachable'), false)).to.equal('You are offline');
  });

  it('is not a guess where the page itself is wrong', () => {
    expect(describeFault(new TypeError('x is undefined'))).to.equal('Unexpected error');
  });
});
