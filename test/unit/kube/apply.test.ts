import { expect } from 'chai';
import { createApplier } from '../../../kube/apply.ts';
import { silentLog } from '../../../kube/log.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { RESOURCES } from '../../../kube/resource.ts';

const OWNER: KubeObject = {
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ModelDeployment',
  metadata: { namespace: 'team', name: 'chat', uid: 'owner' },
};
const service = (port: number): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'model-chat' },
  spec: { ports: [{ port }] },
});

describe('the audit lines of what the operator applies', () => {
  let lines: [message: string, fields: object][];
  let stored: KubeObject | undefined;
  let version: number;

  const createTested = () =>
    createApplier({
      client: {
        find: async <T>() => stored as T | undefined,
        delete: async () => {},
        // A new version for each change, as of an API server.
        apply: async <T extends KubeObject>(_: unknown, object: T) => {
          const isSame = JSON.stringify(stored?.spec) === JSON.stringify(object.spec);
          if (!isSame) version++;
          stored = {
            ...object,
            metadata: { ...object.metadata, uid: 'child', resourceVersion: `${version}` },
          };
          return stored as T;
        },
      },
      fieldManager: 'operator',
      hashAnnotation: 'example.dev/applied',
      resources: [{ resource: RESOURCES.Service }],
      log: { ...silentLog, info: (fields: object, message: string) => lines.push([message, fields]) },
    });

  beforeEach(() => {
    lines = [];
    stored = undefined;
    version = 0;
  });

  it('name what was created and updated, and the object for which', async () => {
    const applier = createTested();
    await applier.apply(service(80), OWNER);
    await applier.apply(service(81), OWNER);
    const line = {
      audit: true,
      kind: 'Service',
      namespace: 'team',
      name: 'model-chat',
      owner: 'ModelDeployment team/chat',
    };
    expect(lines).to.deep.equal([
      ['object created', line],
      ['object updated', line],
    ]);
  });

  it('are not there of what is as wanted, nor of a write that changed nothing', async () => {
    await createTested().apply(service(80), OWNER);
    lines = [];
    // A new applier has no memory of it, and writes once more.
    await createTested().apply(service(80), OWNER);
    const applier = createTested();
    await applier.apply(service(80), OWNER);
    await applier.apply(service(80), OWNER);
    expect(lines).to.deep.equal([]);
  });
});
