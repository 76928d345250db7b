import { expect } from 'chai';
import { EgressError } from '../../../../gateway/egress/egress-error.ts';
import type { ApiError } from '../../../../gateway/error-response.ts';
import { checkDestination } from '../../../../gateway/media/destination.ts';
import type { MediaServices } from '../../../../gateway/media/services.ts';
import { describeModel } from '../../../support/model-replica.ts';
import { rejection } from '../../../support/redis-client.ts';

type Services = Pick<MediaServices, 'redis' | 'egress'>;

describe('destination of results', () => {
  const config = describeModel({ storage: { credential: 'usual' } });
  const check = (wishes: { webhookUrl?: string; credentialId?: number }, services: object) =>
    checkDestination(
      { webhookUrl: wishes.webhookUrl, credentialId: wishes.credentialId },
      config,
      services as Services,
    );
  const raise = async (...given: Parameters<typeof check>) => (await rejection(check(...given))) as ApiError;

  it('asks nobody where nothing is wished for', async () => {
    expect(await check({}, {})).to.deep.equal({ webhookUrl: null, credential: 'usual' });
  });

  it('answers 503 with a wait while Redis is away', async () => {
    const redis = { hget: () => Promise.reject(new Error('Connection is closed.')) };
    const error = await raise({ credentialId: 7 }, { redis });
    expect([error.status, error.code, error.details.retryAfter]).to.deep.equal([
      503,
      'temporarily_unavailable',
      2,
    ]);
  });

  it('tells why a callback is not taken, in words', async () => {
    const egress = { check: () => Promise.reject(new EgressError('port')) };
    const error = await raise({ webhookUrl: 'https://example.com:25' }, { egress });
    expect([error.status, error.code]).to.deep.equal([422, 'invalid_webhook_url']);
    expect(error.message).to.contain('`webhook_url` must use the default port');
  });

  it('blames no callback for a fault of its own', async () => {
    const egress = { check: () => Promise.reject(new TypeError('x is not a function')) };
    expect(await raise({ webhookUrl: 'https://example.com' }, { egress })).to.be.an.instanceOf(TypeError);
  });
});
