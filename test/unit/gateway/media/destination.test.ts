import { expect } from 'chai';
import { EgressError } from '../../../../gateway/egress/egress-error.ts';
import type { ApiError } from '../../../../gateway/http/error-response.ts';
import type { MediaServices } from '../../../../gateway/jobs/services.ts';
import { checkDestination } from '../../../../gateway/media/request-fields.ts';
import { describeModel } from '../../../support/model-replica.ts';
import { rejection } from '../../../support/redis-client.ts';

type Services = Pick<MediaServices, 'redis' | 'egress'>;

describe('destination of results', () => {
  const config = describeModel({ storage: { credential: 'usual' } });
  /** Reads of a Redis with these published credentials. */
  const publish = (values: Record<string, string>) => ({
    redis: { hget: async (_: string, field: string) => values[field] ?? null },
  });
  const check = (
    fields: { webhookUrl?: string; credentialId?: number },
    services: object,
    model = describeModel({}),
  ) =>
    checkDestination(
      { webhookUrl: fields.webhookUrl, credentialId: fields.credentialId },
      model,
      services as Services,
    );
  const raise = async (...given: Parameters<typeof check>) => (await rejection(check(...given))) as ApiError;

  it('asks nobody where the request names nothing', async () => {
    expect(await check({}, {})).to.deep.equal({ webhookUrl: null, credential: null });
  });

  for (const written of [
    '\nhttps://example.com/hook',
    'https://exam\nple.com/hook',
    'https://EXAMPLE.com/hook#a\n',
  ])
    it(`is kept as it is parsed, without a break: ${JSON.stringify(written)}`, async () => {
      const egress = { check: async () => {} };
      const { webhookUrl } = await check({ webhookUrl: written }, { egress });
      expect(webhookUrl).to.equal('https://example.com/hook');
    });

  const usual = (verified: boolean) =>
    publish({ 'name:usual': '7', 'id:7': JSON.stringify({ id: 7, name: 'usual', verified }) });

  it('is the deployment’s credential where the request names none', async () => {
    expect(await check({}, usual(true), config)).to.deep.equal({ webhookUrl: null, credential: 'usual' });
  });

  const useless: [string, object, string][] = [
    ['does not exist', publish({}), 'storage_credential_not_found'],
    ['is not verified', usual(false), 'storage_credential_not_verified'],
  ];
  for (const [what, services, code] of useless)
    it(`is refused before any work where the deployment’s credential ${what}`, async () => {
      const error = await raise({}, services, config);
      expect([error.status, error.code]).to.deep.equal([422, code]);
      expect(error.message).to.contain('"usual"');
    });

  it('explains why a callback is rejected', async () => {
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
