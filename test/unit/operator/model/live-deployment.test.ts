import { expect } from 'chai';
import type { KubeObject } from '../../../../kube/object.ts';
import { ObjectBudget } from '../../../../operator/framework/object-budget.ts';
import { findLiveDeployment } from '../../../../operator/model/live-deployment.ts';

const { signal } = new AbortController();
const deployment: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'chat', namespace: 'team-a', annotations: { 'berth.dev/template': '{}' } },
  spec: { replicas: 1 },
};

describe("a deployment's Deployment", () => {
  /** `live`: in the cluster. Counts the reads there. */
  const start = (cached: KubeObject | undefined, live: KubeObject | undefined) => {
    const reads: unknown[] = [];
    const sources = {
      view: { deployments: { get: () => cached } },
      client: {
        find: async (_: unknown, at: unknown) => {
          reads.push(at);
          return live;
        },
      },
    } as unknown as Parameters<typeof findLiveDeployment>[0];
    return { reads, find: () => findLiveDeployment(sources, 'team-a/chat', signal) };
  };

  it('is the one that the watch has, without a call', async () => {
    const { reads, find } = start(deployment, undefined);
    expect(await find()).to.equal(deployment);
    expect(await start(undefined, deployment).find()).to.equal(undefined);
    expect(reads).to.deep.equal([]);
  });

  it('is read with its template if the watch has only a stub since it is too large', async () => {
    const large = { ...deployment, spec: { text: 'x'.repeat(1024 * 1024) } };
    const stub = new ObjectBudget().admit(large as unknown as typeof deployment, (object) => object)!;
    expect(stub.metadata.annotations).to.equal(undefined);
    const { reads, find } = start(stub, deployment);
    expect(await find()).to.equal(deployment);
    expect(reads).to.deep.equal([{ name: 'chat', namespace: 'team-a' }]);
  });
});
