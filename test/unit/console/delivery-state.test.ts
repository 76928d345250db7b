import { expect } from 'chai';
import { nameState } from '../../../console/web/webhooks/delivery-state.ts';

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
