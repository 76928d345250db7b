import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { writeHeaders } from '../../../../cli/listener/console-listening.ts';
import { isSigned } from '../../../console/support/receiver.ts';

const DELIVERY = { id: 'dlv_1', eventId: 'evt_1', type: 'request.completed' };
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const BODY = '{"id":"evt_1"}';

describe('the headers of a delivery that berth listen found in the console', () => {
  it('are signed with the secret', () => {
    const headers = writeHeaders(DELIVERY, Buffer.from(BODY), SECRET);
    expect(new Webhook(SECRET).verify(BODY, headers)).to.deep.equal({ id: 'evt_1' });
    expect(isSigned({ headers, body: BODY }, SECRET)).to.equal(true);
    expect(headers).to.include({ 'x-service-event': 'request.completed', 'x-service-delivery-id': 'dlv_1' });
  });

  it('have no signatures without a secret', () => {
    const headers = writeHeaders(DELIVERY, Buffer.from(BODY), null);
    expect(Object.keys(headers).filter((name) => name.includes('signature'))).to.deep.equal([]);
    expect(headers).to.include({ 'webhook-id': 'evt_1', 'content-type': 'application/json' });
  });
});
