import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import { modelDeployment } from '../../../../api/model-deployment.ts';
import { isStub, type KubeObject } from '../../../../kube/object.ts';
import {
  trimDeployment,
  trimManagers,
  trimPod,
  trimService,
  trimToMetadata,
} from '../../../../operator/framework/cluster-view.ts';
import { ObjectBudget } from '../../../../operator/framework/object-budget.ts';
import { readChartLimits } from '../../../support/chart-limits.ts';
import { build } from '../resources/fixtures.ts';

/** A tenth of 5,000 deployments, for a tenth of the memory. */
const PART = 10;
const DEPLOYMENTS = 5_000 / PART;
const NAMESPACES = 50;
/** The share of the heap that ObjectBudget uses. */
const HEAP_SHARE = 0.6;

const TIME = '2026-01-01T00:00:00Z';
/** What the API server adds to every object. */
const ADDED = {
  uid: '0d0e6a0b-6a6f-4d7c-9a58-1e1d6b5a3f10',
  resourceVersion: '123456789',
  generation: 3,
  creationTimestamp: TIME,
};
const listConditions = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    type: `Condition${i}`,
    status: 'True',
    reason: 'MinimumReplicasAvailable',
    message: 'a sentence that says what the matter is, of about eighty characters at the most',
    lastTransitionTime: TIME,
    observedGeneration: 3,
  }));

const examples = readdirSync('examples')
  .filter((file) => file.endsWith('.yaml'))
  .flatMap((file) => parseAllDocuments(readFileSync(`examples/${file}`, 'utf8')))
  .map((document) => document.toJS())
  .filter(({ kind }) => kind === 'ModelDeployment');

const withServerFields = (object: KubeObject, status?: object): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, ...ADDED },
  ...(status && { status }),
});

/** A running pod, as the kubelet reports it. */
function makePod({ template }: ReturnType<typeof build>): KubeObject {
  const report = ({ name, image }: { name: string; image?: string }) => ({
    name,
    image,
    imageID: `${image}@sha256:${'a'.repeat(64)}`,
    containerID: `containerd://${'b'.repeat(64)}`,
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: { startedAt: TIME } },
  });
  const { containers, initContainers = [] } = template.spec!;
  const status = {
    phase: 'Running',
    podIP: '10.1.2.3',
    podIPs: [{ ip: '10.1.2.3' }],
    conditions: listConditions(6),
    containerStatuses: containers.map(report),
    initContainerStatuses: initContainers.map(report),
  };
  const metadata = { ...template.metadata, name: 'pod' };
  return withServerFields(
    { apiVersion: 'v1', kind: 'Pod', metadata, spec: template.spec } as KubeObject,
    status,
  );
}

/** All objects that the operator caches for a deployment with one replica, with the function that trims each. */
function listObjects(example: KubeObject): { object: KubeObject; trim: (object: never) => object }[] {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(example) };
  const applied = { ...example, metadata: { ...example.metadata, annotations } };
  const model = withServerFields(applied, { conditions: listConditions(10) });
  const built = build(modelDeployment.parse(model), { routeVia: 'Front' });
  const trims: Record<string, (object: never) => object> = {
    Deployment: trimDeployment,
    Service: trimService,
  };
  return [
    { object: model, trim: trimManagers },
    { object: makePod(built), trim: trimPod as never },
    ...built.objects.map((object) => ({
      object: withServerFields(object, object.kind === 'Deployment' ? { conditions: listConditions(2) } : {}),
      trim: trims[object.kind] ?? trimToMetadata,
    })),
    { object: withServerFields(built.frontRoute!), trim: trimManagers },
  ];
}

describe('The memory of an operator as the chart starts it', () => {
  it('has room for 5,000 deployments like the examples, with their pods and all that belongs to them', () => {
    const [, heapMiB] = /--max-old-space-size=(\d+)/.exec(readChartLimits('operator').nodeOptions)!;
    const budget = new ObjectBudget((Number(heapMiB) * 1024 * 1024 * HEAP_SHARE) / PART);
    const fleet = examples.map(listObjects);
    const left: string[] = [];
    for (let i = 0; i < DEPLOYMENTS; i++) {
      for (const { object, trim } of fleet[i % fleet.length]!) {
        const metadata = {
          ...object.metadata,
          name: `${object.metadata.name}-${i}`,
          namespace: `team-${i % NAMESPACES}`,
        };
        const kept = budget.admit({ ...object, metadata }, trim as never);
        if (!kept || isStub(kept)) left.push(`${object.kind} ${i}`);
      }
    }
    expect(left).to.deep.equal([]);
  });
});
