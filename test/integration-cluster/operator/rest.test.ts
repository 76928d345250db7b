import { expect } from 'chai';
import { SIGNING_SECRET_NAME } from '../../../api/names.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';
import { BERTH_RESOURCES } from '../../../operator/framework/berth-resources.ts';
import type { Target } from '../../../operator/publish/desired-state.ts';
import { pollUntil } from '../../support/poll.ts';
import { type RunningOperator, useHarness } from './operator-harness.ts';

const MODELS = 12;

describe('The operator at rest', () => {
  const harness = useHarness();
  let namespace: string;

  beforeEach(async () => {
    namespace = await harness.cluster.makeNamespace();
  });

  /** Models with a token each that people made, a key, a workspace, and pods that serve. */
  async function fill(): Promise<string[]> {
    const { cluster } = harness;
    await cluster.client.create(RESOURCES.Secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: 'huggingface' },
      stringData: { token: 'hf' },
    });
    const huggingFace = { repo: 'a/b', tokenSecret: { name: 'huggingface', key: 'token' } };
    const names = Array.from({ length: MODELS }, (_, index) => `model-${index}`);
    await cluster.create(BERTH_RESOURCES.Workspace, { namespace, name: 'workspace' }, {});
    await cluster.create(BERTH_RESOURCES.APIKey, { namespace, name: 'key' }, {});
    for (const name of names)
      await cluster.createModel(namespace, name, {
        engine: { preset: 'custom', image: 'engine:1' },
        model: { id: name, source: { huggingFace } },
        route: { via: name === 'model-0' ? 'Front' : 'Direct' },
      });
    await pollUntil(async () => (await cluster.list(RESOURCES.Deployment, namespace)).length === MODELS);
    for (const name of names) await cluster.makeReadyPod(namespace, name);
    await pollUntil(async () => (await Promise.all(names.map(phaseOf))).every((phase) => phase === 'Ready'));
    return names;
  }

  const phaseOf = async (name: string) => (await harness.cluster.status(namespace, name)).phase;

  /** The deployments whose data a program publishes from now on. */
  function recordMarks({ program: { publisher } }: RunningOperator): Target[] {
    const marked: Target[] = [];
    const mark = publisher.mark.bind(publisher);
    publisher.mark = (target) => {
      if (target.what === 'deployment') marked.push(target);
      mark(target);
    };
    return marked;
  }

  /** Calls since, but for the lease's and the events'. */
  const countCalls = ({ client }: RunningOperator, since = 0): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const { verb, resource } of client.calls.slice(since)) {
      if (resource === 'leases' || resource === 'events') continue;
      counts[`${verb} ${resource}`] = (counts[`${verb} ${resource}`] ?? 0) + 1;
    }
    return counts;
  };

  it('reconciles everything again without one call to the API server, and publishes no deployment again', async () => {
    const operator = harness.startOperator();
    await fill();
    await harness.settle(operator);
    // What this process created itself is read once more.
    operator.program.resync();
    await harness.settle(operator);
    const before = operator.client.calls.length;
    const published = recordMarks(operator);
    operator.program.resync();
    await harness.settle(operator);
    expect(countCalls(operator, before)).to.deep.equal({});
    expect(published).to.deep.equal([]);
  });

  it('creates all that a deployment needs in ten calls', async () => {
    const { cluster } = harness;
    const operator = harness.startOperator();
    // What a namespace needs, and this process reads once, comes with the first one.
    await fill();
    await harness.settle(operator);
    const before = operator.client.calls.length;
    await cluster.createModel(namespace, 'another', {
      engine: { preset: 'custom', image: 'engine:1' },
      model: { id: 'another' },
    });
    await pollUntil(async () => (await cluster.list(RESOURCES.Deployment, namespace)).length === MODELS + 1);
    await harness.settle(operator);
    const {
      'patch modeldeployments/status': _,
      'create controllerrevisions': revisions,
      ...others
    } = countCalls(operator, before);
    expect(revisions, 'its first spec').to.equal(1);
    const calls = Object.values(others).reduce((sum, count) => sum + count, 0);
    expect(calls, JSON.stringify(others)).to.be.most(10);
  });

  it('starts again with a read of each Secret that people named or that holds a key, and writes nothing', async () => {
    const first = harness.startOperator();
    await fill();
    await harness.settle(first);
    await first.stop();
    const second = harness.startOperator();
    const built = recordMarks(second);
    await harness.settle(second);
    // Each reconcile that builds a deployment's children publishes its data: a host that was published since makes only the status anew.
    const models = (await harness.cluster.client.list(BERTH_RESOURCES.ModelDeployment)).items.length;
    expect(built).to.have.length(models);
    const counts = Object.entries(countCalls(second)).filter(([call]) => !/^(list|watch) /.test(call));
    expect(second.writes().filter((write) => !write.endsWith(' leases'))).to.deep.equal([]);
    const namespaces = (await harness.cluster.client.list(BERTH_RESOURCES.Workspace)).items.length;
    // The token, the key and the signing secret; per namespace, not per deployment.
    expect(Object.fromEntries(counts)).to.deep.equal({ 'get secrets': 3 * namespaces });
  });

  it("keeps no slices of the endpointslice controller, which have their Service's labels", async () => {
    const operator = harness.startOperator();
    await fill();
    await harness.settle(operator);
    const { view } = operator.program;
    const key = `${namespace}/model-1`;
    const { labels } = view.services.get(key)!.metadata;
    const write = (name: string, manager: string) =>
      harness.cluster.client.create(RESOURCES.EndpointSlice, {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          namespace,
          name,
          labels: { ...labels, 'endpointslice.kubernetes.io/managed-by': manager },
        },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.2.0.1'], conditions: { ready: true } }],
      } as KubeObject);
    await write('model-1-x2x4z', 'endpointslice-controller.k8s.io');
    await write('model-1-later', 'berth');
    await pollUntil(() => view.slices.get(`${namespace}/model-1-later`) !== undefined, 'the later slice');
    expect(view.slices.get(`${namespace}/model-1-x2x4z`)).to.equal(undefined);
  });

  it('makes a Secret of its own again at once when somebody deletes it', async () => {
    const { cluster } = harness;
    const operator = harness.startOperator();
    await fill();
    await harness.settle(operator);
    const uid = async (name: string) => (await cluster.find(RESOURCES.Secret, namespace, name))?.metadata.uid;
    const own = (await cluster.list<KubeObject>(RESOURCES.Secret, namespace))
      .map(({ metadata }) => metadata.name)
      .filter((name) => name === SIGNING_SECRET_NAME || name === 'key-api-key' || name.startsWith('model-3'));
    expect(own).to.have.length(3);
    for (const name of own) {
      const before = await uid(name);
      await cluster.delete(RESOURCES.Secret, namespace, name);
      await pollUntil(async () => ![undefined, before].includes(await uid(name)), name);
    }
  });
});
