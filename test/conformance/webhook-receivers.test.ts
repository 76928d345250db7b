/** The receivers in docs/webhooks.md, each as a program of its own, and Stripe's SDK verify Berth's signatures. */
import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import Stripe from 'stripe';
import { ensureProgram } from '../../machine/system-package.ts';
import { DELIVERIES, describeReceiver, SECRET } from './webhook-receiver.ts';

describeReceiver('receiver.mjs', () => [process.execPath, 'examples/webhooks/receiver.mjs']);
describeReceiver('receiver.py', () => [ensureProgram('python3', 'python3'), 'examples/webhooks/receiver.py']);

describe('examples/webhooks/verify.sh', () => {
  for (const [title, header, body, isGenuine] of DELIVERIES)
    it(`${isGenuine ? 'takes' : 'refuses'} ${title}`, () => {
      const { status, stdout } = spawnSync('examples/webhooks/verify.sh', [header() ?? ''], {
        input: body,
        env: { ...process.env, SIGNING_SECRET: SECRET },
        encoding: 'utf8',
      });
      expect(status).to.equal(isGenuine ? 0 : 1);
      expect(stdout.trim()).to.equal(isGenuine ? 'genuine' : '');
    });
});

describe("Stripe's SDK", () => {
  // It accepts times in the future, which the API does not forbid.
  for (const [title, header, body, isGenuine] of DELIVERIES.filter(([each]) => !/future/.test(each)))
    it(`${isGenuine ? 'takes' : 'refuses'} ${title}`, () => {
      const verify = () =>
        new Stripe('sk_test').webhooks.signature!.verifyHeader(
          body.toString('utf8'),
          header() ?? '',
          SECRET,
          300,
        );
      if (isGenuine) expect(verify()).to.equal(true);
      else expect(verify).to.throw(/signature|header|timestamp/i);
    });
});
