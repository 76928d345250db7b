import { expect } from 'chai';
import { evaluateBucket, VERIFYING } from '../../../../operator/credential/bucket-check.ts';
import { startExternalCheck } from '../../../../operator/framework/external-check.ts';
import { verdict } from '../../../../operator/status/condition-list.ts';

const TIME = { now: 0, random: 0.5, bucket: 'results' };
const PASSED = startExternalCheck({ passed: verdict('True', 'Verified', ''), pending: VERIFYING }, TIME);
const fail = (reason: string) =>
  evaluateBucket(PASSED, { verified: false, reason, message: 'does not work' }, TIME);

describe('a bucket that was verified', () => {
  for (const reason of ['Clock', 'Unsupported', 'Addressing', 'Denied', 'Bucket'])
    it(`is withdrawn at the first check that fails as ${reason}`, () => {
      expect(fail(reason)).to.deep.include({
        isPassed: false,
        verdict: verdict('False', reason, 'bucket results does not work'),
      });
    });

  for (const reason of ['Unreachable', 'Slow', 'Failed'])
    it(`stays in use at the first check that fails as ${reason}`, () => {
      expect(fail(reason)).to.deep.include({ isPassed: true });
    });
});
