import { expect } from 'chai';
import { runKubectl } from '../../launch/kubectl.ts';
import { RELEASE } from '../../launch/release.ts';
import { cluster, kubectl } from './installation.ts';

const MEMBER = 'e2e-anna';
const READS = ['get', 'list', 'watch'];
const WRITES = ['create', 'update', 'patch', 'delete'];
const OWN = ['webhookendpoints', 'apikeys', 'storagecredentials', 'modeldeployments'];

interface Right {
  group: string;
  resource: string;
  subresource?: string;
  namespace: string;
}

/** The member's rights according to the API server, verb by verb. */
async function listAllowed(right: Right, verbs: string[]): Promise<string[]> {
  const reviews = verbs.map((verb) => ({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: MEMBER, resourceAttributes: { ...right, verb } },
  }));
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: reviews });
  const args = ['create', '-f', '-', '-o', 'jsonpath={.status.allowed}{"\\n"}'];
  const answers = (await runKubectl(cluster, args, list)).trim().split('\n');
  expect(answers).to.have.length(verbs.length);
  return verbs.filter((_, index) => answers[index] === 'true');
}

describe('a member of a workspace', () => {
  const binding = ['rolebinding', 'e2e-member', '-n', 'other'];
  before(() => kubectl('create', ...binding, `--clusterrole=${RELEASE}-member`, `--user=${MEMBER}`));
  after(() => kubectl('delete', ...binding, '--ignore-not-found'));

  for (const resource of OWN)
    it(`may read and write ${resource} in their namespace alone`, async () => {
      const verbs = [...READS, ...WRITES];
      const right = { group: 'berth.dev', resource };
      expect(await listAllowed({ ...right, namespace: 'other' }, verbs)).to.deep.equal(verbs);
      expect(await listAllowed({ ...right, namespace: 'default' }, verbs)).to.deep.equal([]);
      const status = { ...right, subresource: 'status', namespace: 'other' };
      expect(await listAllowed(status, WRITES)).to.deep.equal([]);
    });

  it('may read their Workspace, which says what they may spend, and not write it', async () => {
    const right = { group: 'berth.dev', resource: 'workspaces', namespace: 'other' };
    expect(await listAllowed(right, [...READS, ...WRITES])).to.deep.equal(READS);
  });

  for (const [group, resource] of [
    ['', 'secrets'],
    ['', 'configmaps'],
    ['apps', 'deployments'],
    ['rbac.authorization.k8s.io', 'rolebindings'],
  ] as const)
    it(`has no right on ${resource}`, async () => {
      const right = { group, resource, namespace: 'other' };
      expect(await listAllowed(right, [...READS, ...WRITES])).to.deep.equal([]);
    });

  for (const resource of ['pods', 'events'])
    it(`may read ${resource}, which the console shows, and not write them`, async () => {
      const right = { group: '', resource, namespace: 'other' };
      expect(await listAllowed(right, [...READS, ...WRITES])).to.deep.equal(READS);
      expect(await listAllowed({ ...right, namespace: 'default' }, READS)).to.deep.equal([]);
    });

  it('may read logs, and run or reach nothing in a pod', async () => {
    const pods = { group: '', resource: 'pods', namespace: 'other' };
    expect(await listAllowed({ ...pods, subresource: 'log' }, [...READS, ...WRITES])).to.deep.equal(['get']);
    for (const subresource of ['exec', 'attach', 'portforward', 'proxy', 'ephemeralcontainers'])
      expect(await listAllowed({ ...pods, subresource }, [...READS, ...WRITES])).to.deep.equal([]);
  });

  it("cannot give an engine a Secret, another's or Berth's own", async () => {
    const object = {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: { name: 'e2e-member', namespace: 'other' },
      spec: {
        kind: 'LLM',
        model: { id: 'e2e-member' },
        engine: { preset: 'simulator', envFrom: [{ secretRef: { name: 'e2e-member-gateway' } }] },
      },
    };
    const args = ['create', '-f', '-', '--dry-run=server', '--as', MEMBER];
    const refusal = await runKubectl(cluster, args, JSON.stringify(object)).then(
      () => 'it was made',
      (error: Error) => error.message,
    );
    expect(refusal).to.contain('modeldeployments/podfields');
    const { envFrom: _, ...plain } = object.spec.engine;
    const spec = { ...object.spec, engine: plain };
    await runKubectl(cluster, args, JSON.stringify({ ...object, spec }));
  });

  it('makes a webhook endpoint, enables it again and deletes it', async () => {
    const endpoint = ['webhookendpoint', 'e2e-member', '-n', 'other'];
    const object = {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'WebhookEndpoint',
      metadata: { name: 'e2e-member', namespace: 'other' },
      spec: { url: 'https://hooks.example.com/a' },
    };
    await runKubectl(cluster, ['create', '-f', '-', '--as', MEMBER], JSON.stringify(object));
    await kubectl('annotate', ...endpoint, 'berth.dev/re-enable=now', '--as', MEMBER);
    await kubectl('delete', ...endpoint, '--as', MEMBER);
  });
});
