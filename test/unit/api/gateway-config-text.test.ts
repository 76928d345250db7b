import { expect } from 'chai';
import { parseGatewayConfig } from '../../../api/gateway-config-text.ts';
import { modelDeployment } from '../../../api/model-deployment.ts';
import { describeModel } from '../../support/model-replica.ts';

describe('a published configuration', () => {
  const config = describeModel();

  it('is read as it was written', () => {
    expect(parseGatewayConfig(JSON.stringify(config))).to.deep.equal(config);
  });

  it('has no streams that survive where vLLM does not continue the messages of a family', () => {
    const resilience = { continueStreams: true };
    const read = (id: string, preset: 'vllm' | 'sglang', family?: 'gpt-oss' | 'none') =>
      describeModel({
        resilience,
        model: { id, source: { huggingFace: { repo: id } } },
        engine: { preset, family },
      }).continueStreams;
    expect(read('openai/gpt-oss-20b', 'vllm')).to.equal(undefined);
    expect(read('team/own', 'vllm', 'gpt-oss')).to.equal(undefined);
    expect(read('openai/gpt-oss-20b', 'vllm', 'none')).to.equal(true);
    expect(read('openai/gpt-oss-20b', 'sglang')).to.equal(true);
    expect(read('Qwen/Qwen3-8B', 'vllm')).to.equal(true);
  });

  it('may have fields of a newer operator', () => {
    expect(() => parseGatewayConfig(JSON.stringify({ ...config, later: true }))).to.not.throw();
  });

  it('has the routes of its preset where an older operator publishes none', () => {
    const read = parseGatewayConfig(JSON.stringify({ ...config, routes: undefined }));
    expect(read.routes).to.deep.equal(config.routes);
  });

  it('has no timer that is longer than timers run', () => {
    const limits = { ...config.limits, uploadTimeoutMs: 36_000_000_000, queueTTLMs: 36_000_000_000 };
    const read = parseGatewayConfig(JSON.stringify({ ...config, limits }));
    expect(read.limits).to.include({ uploadTimeoutMs: 24 * 86_400_000, queueTTLMs: 36_000_000_000 });
    expect(read.limits.requestTimeoutMs).to.equal(config.limits.requestTimeoutMs);
  });

  it('has no JSON body that is larger than the schema allows, as an object stored before that bound may', () => {
    const model = { kind: 'LLM', model: { id: 'm' }, engine: { preset: 'simulator' } };
    const parse = (jsonBody: string) =>
      modelDeployment.safeParse({
        ...{ apiVersion: 'berth.dev/v1alpha1', kind: 'ModelDeployment' },
        metadata: { namespace: 'team', name: 'chat' },
        spec: { ...model, limits: { jsonBody } },
      });
    expect(parse('160Mi').success).to.equal(true);
    // What the object's status says.
    expect(
      parse('161Mi').error!.issues.map(({ path, message }) => `${path.join('.')}: ${message}`),
    ).to.deep.equal(['spec.limits.jsonBody: must be at most 160Mi']);
    const limits = { ...config.limits, jsonBodyBytes: 200 * 2 ** 30 };
    const read = parseGatewayConfig(JSON.stringify({ ...config, limits }));
    expect(read.limits.jsonBodyBytes).to.equal(160 * 2 ** 20);
  });

  it('may lack a timer that its operator does not know', () => {
    const limits = { ...config.limits, imageJobTimeoutMs: undefined };
    const read = parseGatewayConfig(JSON.stringify({ ...config, limits }));
    expect(read.limits).to.not.have.property('imageJobTimeoutMs');
  });

  const wrong: [string, unknown, RegExp][] = [
    ['null', null, /not an object/],
    ['another version', { ...config, v: 2 }, /version 2, this gateway supports 1/],
    ['no name', { ...config, name: undefined }, /has no name/],
    ['no limits', { ...config, limits: undefined }, /has no limits/],
    [
      'a limit that is no number',
      { ...config, limits: { ...config.limits, jsonBodyBytes: '1' } },
      /has no limits/,
    ],
    ['no concurrency', { ...config, concurrency: undefined }, /has no concurrency/],
  ];
  for (const [what, value, message] of wrong)
    it(`is refused with ${what}`, () => {
      expect(() => parseGatewayConfig(JSON.stringify(value))).to.throw(message);
    });
});
