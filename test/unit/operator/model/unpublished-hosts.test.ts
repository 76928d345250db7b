import { expect } from 'chai';
import { modelDeployment } from '../../../../api/model-deployment.ts';
import { UnpublishedHosts } from '../../../../operator/model/unpublished-hosts.ts';

describe('a host that is not published', () => {
  const start = () => {
    const publisher = {
      host: undefined as string | undefined,
      cause: undefined as string | undefined,
      outage: undefined as string | undefined,
      publishedHost: () => publisher.host,
      explain: () => publisher.cause,
    };
    const clock = { now: 1_000 };
    const models = { hostOf: () => 'chat.example' };
    const hosts = new UnpublishedHosts({ models, publisher, now: () => clock.now } as never);
    const model = modelDeployment.parse({
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: { name: 'chat', namespace: 'team-a' },
      spec: { kind: 'LLM', model: { id: 'm' }, engine: { preset: 'simulator' } },
    });
    return { publisher, clock, evaluate: () => hosts.evaluate(model) };
  };

  it('is rechecked on its own, and explained after ten seconds', () => {
    const { publisher, clock, evaluate } = start();
    expect(evaluate()).to.deep.equal({ reason: 'the host is being published', recheckAfterMs: 10_000 });
    publisher.cause = 'the last attempt failed: READONLY';
    clock.now += 10_000;
    expect(evaluate().reason).to.equal(
      'host chat.example is not published after more than 10 s: the last attempt failed: READONLY; retrying every 10 s',
    );
    publisher.cause = undefined;
    expect(evaluate().reason).to.contain('the cause is unknown');
    publisher.host = 'chat.example';
    expect(evaluate()).to.deep.equal({ reason: undefined, recheckAfterMs: undefined });
    publisher.host = 'older.example';
    expect(evaluate().reason).to.equal('the host is being published');
  });

  it('waits for Redis without a timer while that is away', () => {
    const { publisher, evaluate } = start();
    Object.assign(publisher, { outage: 'refused', cause: 'Redis is unavailable: refused' });
    expect(evaluate()).to.deep.equal({
      reason: 'not published yet: Redis is unavailable: refused',
      recheckAfterMs: undefined,
    });
  });
});
