import { expect } from 'chai';
import { describeAnswer, describeFailure, nameState } from '../../../console/web/webhooks/delivery-state.ts';

describe('the state of a delivery, in a word', () => {
  it('is pending before the first attempt, and retrying after a failed one', () => {
    expect(nameState({ state: 'pending', attempts: 0 })).to.equal('pending');
    expect(nameState({ state: 'pending', attempts: 2 })).to.equal('retrying');
  });

  it('is failing after the last attempt: nothing is retried any more, but it has not failed yet', () => {
    expect(nameState({ state: 'pending', attempts: 3 })).to.equal('failing');
    expect(nameState({ state: 'failed', attempts: 3 })).to.equal('failed');
    expect(nameState({ state: 'delivered', attempts: 3 })).to.equal('delivered');
  });
});

describe('what a receiver answered', () => {
  const refused = { status: 500, error: 'answered 500' };
  const lost = { status: null, error: 'connection refused' };

  it('is its status, or why there is none', () => {
    expect(describeAnswer({ status: 204, error: null })).to.equal('HTTP 204');
    expect(describeAnswer(refused)).to.equal('HTTP 500');
    expect(describeAnswer(lost)).to.equal('connection refused');
    expect(describeAnswer({ status: null, error: null })).to.equal(null);
  });

  it('is told of a failure with whether it is retried', () => {
    expect(describeFailure({ ...refused, state: 'pending' })).to.equal('Delivery failed (500). Retrying.');
    expect(describeFailure({ ...refused, state: 'failed' })).to.equal('Delivery failed (500).');
    expect(describeFailure({ ...lost, state: 'pending' })).to.equal(
      'Delivery failed: connection refused. Retrying.',
    );
  });
});
