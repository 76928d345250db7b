import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect } from 'chai';
import { endWith } from '../../../console/server/http/stream-end.ts';

describe('the end of a call for a page', () => {
  const open = () => new ServerResponse(new IncomingMessage(new Socket()));
  const leave = async (response: ServerResponse) => {
    response.destroy();
    if (!response.closed) await once(response, 'close');
  };
  /** Resolves once a running call was checked a few times. */
  const passChecks = async () => {
    const response = open();
    await new Promise<void>((resolve) => {
      let looks = 0;
      const look = async () => {
        if (++looks === 5) resolve();
        return true;
      };
      endWith(response, look, 1);
    });
    await leave(response);
  };

  it('comes when the page is left, and rights are asked for no longer', async () => {
    const response = open();
    let looks = 0;
    const signal = endWith(response, async () => ++looks > 0, 1);
    expect(signal.aborted).to.equal(false);
    await leave(response);
    expect(signal.aborted).to.equal(true);
    const before = looks;
    await passChecks();
    expect(looks).to.equal(before);
  });

  it('comes at once where the page was left before, and rights are never asked for', async () => {
    const response = open();
    await leave(response);
    let looks = 0;
    expect(endWith(response, async () => ++looks > 0, 1).aborted).to.equal(true);
    await passChecks();
    expect(looks).to.equal(0);
  });

  const ENDS: [string, () => Promise<boolean>][] = [
    ['the right is gone', async () => false],
    ['nobody can say whether it is', () => Promise.reject(new Error('no API server'))],
  ];
  for (const [what, answer] of ENDS)
    it(`comes when ${what}`, async () => {
      const response = open();
      const signal = endWith(response, answer, 1);
      await once(signal, 'abort');
      await leave(response);
    });
});
