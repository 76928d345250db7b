import { expect } from 'chai';
import { deriveId } from '../../../../api/identity.ts';
import { KeyStore } from '../../../../operator/key/key-store.ts';
import { ModelStore } from '../../../../operator/model/model-store.ts';
import { findConflicts, listSecretReferences } from '../../../../operator/model/problems.ts';

const model = (
  name: string,
  change: { spec?: object; uid?: string; created?: string; version?: string } = {},
) => ({
  apiVersion: 'berth.dev/v1alpha1',
  kind: 'ModelDeployment',
  metadata: {
    name,
    namespace: 'team-a',
    uid: change.uid ?? name,
    resourceVersion: change.version ?? '1',
    creationTimestamp: change.created ?? '2026-01-01T00:00:00Z',
  },
  spec: { kind: 'LLM', model: { id: 'm' }, engine: { preset: 'vllm' }, ...change.spec },
});
const shared = { route: { host: 'a.example' } };

describe('the index of ModelDeployments', () => {
  it('reports what is wrong with a spec, field by field, and lets it own nothing', () => {
    const index = new ModelStore('example', () => true);
    index.put('team-a/bad', model('bad', { spec: { kind: 'Teapot', ...shared } }));
    const parsed = index.get('team-a/bad');
    expect(parsed).to.have.property('ok', false);
    expect((parsed as { message: string }).message).to.equal(
      'spec.kind: must be one of LLM, Embedding, Rerank, Image, Video, Transcription, Speech, not "Teapot"',
    );
    expect(index.hostOwner('a.example')).to.equal(undefined);
  });

  it('reads a stub again when it is completed in the same version', () => {
    const index = new ModelStore('example', () => true);
    const whole = model('one');
    index.put('team-a/one', {
      ...whole,
      spec: 'the objects of this namespace take too much memory' as never,
    });
    expect(index.get('team-a/one')).to.have.property('ok', false);
    index.put('team-a/one', whole);
    expect(index.get('team-a/one')).to.have.property('ok', true);
  });

  it('gives the host to the next when its owner is deleted, and to the older when it was made again', () => {
    const index = new ModelStore('example', () => true);
    index.put('team-a/one', model('one', { spec: shared }));
    index.put('team-a/two', model('two', { spec: shared, created: '2026-01-02T00:00:00Z' }));
    expect(index.hostOwner('a.example')).to.equal('team-a/one');
    const again = { spec: shared, uid: 'new', created: '2026-01-03T00:00:00Z', version: '2' };
    expect(index.put('team-a/one', model('one', again))).to.include('team-a/two');
    expect(index.hostOwner('a.example')).to.equal('team-a/two');
    expect(index.remove('team-a/two')).to.deep.equal(['team-a/one']);
  });

  it('publishes nothing of one whose end is decided, until it is made again', () => {
    const index = new ModelStore('example', () => true);
    index.put('team-a/one', model('one'));
    index.withdraw('team-a/one', 'one');
    expect(index.isWithdrawn('team-a/one')).to.equal(true);
    index.put('team-a/one', model('one', { uid: 'new', version: '2' }));
    expect(index.isWithdrawn('team-a/one')).to.equal(false);
  });

  it('publishes one that was made again while its predecessor’s end was being decided', () => {
    const index = new ModelStore('example', () => true);
    index.put('team-a/one', model('one', { uid: 'new', version: '2' }));
    index.withdraw('team-a/one', 'one');
    expect(index.isWithdrawn('team-a/one')).to.equal(false);
  });

  it('asks for no host where no route is wanted', () => {
    const index = new ModelStore('example', () => true);
    index.put('team-a/one', model('one', { spec: { route: { enabled: false } } }));
    const parsed = index.get('team-a/one');
    expect(parsed?.ok && index.hostOf(parsed.value)).to.equal(undefined);
  });
});

describe('what two deployments ask for', () => {
  const NEW = { created: '2026-01-02T00:00:00Z' };
  const of = (namespace: string, object: ReturnType<typeof model>) => ({
    ...object,
    metadata: { ...object.metadata, namespace },
  });
  const problemsOf = (index: ModelStore, key: string) => {
    const parsed = index.get(key);
    return parsed?.ok ? findConflicts({ models: index }, parsed.value) : [];
  };

  it('is not kept from its owner by an older one that may not have it', () => {
    const index = new ModelStore('example', ({ metadata }) => metadata.namespace === 'team-b');
    index.put('team-a/squat', model('squat', { spec: shared }));
    expect(index.hostOwner('a.example')).to.equal(undefined);
    index.put('team-b/mine', of('team-b', model('mine', { spec: shared, ...NEW })));
    expect(index.hostOwner('a.example')).to.equal('team-b/mine');
    expect(problemsOf(index, 'team-b/mine')).to.deep.equal([]);
    expect(problemsOf(index, 'team-a/squat')).to.deep.equal([]);
  });

  it('is the one whose default host it is, however old the other', () => {
    const index = new ModelStore('example', () => true);
    index.put('team-a/squat', model('squat', { spec: { route: { host: 'mine--team-b.example' } } }));
    expect(index.hostOwner('mine--team-b.example')).to.equal('team-a/squat');
    expect(index.put('team-b/mine', of('team-b', model('mine', NEW)))).to.deep.equal(['team-a/squat']);
    expect(index.hostOwner('mine--team-b.example')).to.equal('team-b/mine');
  });

  it('is the one whose id it is by its name, however old the other', () => {
    const index = new ModelStore('example', () => true);
    const id = deriveId('ModelDeployment', 'team-b', 'mine');
    index.put('team-a/squat', model('squat', { spec: { id } }));
    expect(index.idOwner(id)).to.equal('team-a/squat');
    expect(index.put('team-b/mine', of('team-b', model('mine', NEW)))).to.deep.equal(['team-a/squat']);
    expect(problemsOf(index, 'team-b/mine')).to.deep.equal([]);
    expect(problemsOf(index, 'team-a/squat')).to.deep.equal([
      { reason: 'IdConflict', message: `spec.id ${id} is already used by a deployment in another namespace` },
    ]);
  });

  it('is reported with the name of the other in the same namespace only', () => {
    const index = new ModelStore('example', () => true);
    const spec = { ...shared, id: 7 };
    index.put('team-a/one', model('one', { spec }));
    index.put('team-a/two', model('two', { spec, ...NEW }));
    index.put('team-b/three', of('team-b', model('three', { spec, ...NEW })));
    const messages = (key: string) => problemsOf(index, key).map(({ message }) => message);
    expect(messages('team-a/two')).to.deep.equal([
      'host a.example is already used by team-a/one',
      'spec.id 7 is already used by team-a/one',
    ]);
    expect(messages('team-b/three')).to.deep.equal([
      'host a.example is already used by a deployment in another namespace',
      'spec.id 7 is already used by a deployment in another namespace',
    ]);
  });
});

describe('the index of APIKeys', () => {
  const key = (name: string, spec: object, change: object = {}) => ({
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'APIKey',
    metadata: { name, namespace: 'team-a', uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec,
    ...change,
  });
  const [A, B] = ['a'.repeat(64), 'b'.repeat(64)];

  it('publishes given and made keys, and none that is leaving or has no hash yet', () => {
    const index = new KeyStore();
    index.put('team-a/given', key('given', { sha256: A, expiresAt: '2030-01-01T00:00:00Z' }));
    index.put('team-a/made', key('made', {}, { status: { secretName: 's', sha256: B } }));
    index.put('team-a/new', key('new', {}));
    expect([...index.published('team-a')].map(([hash, { n, exp }]) => [hash, n, exp])).to.deep.equal([
      [A, 'given', 1_893_456_000],
      [B, 'made', 0],
    ]);
    const leaving = key('given', { sha256: A });
    index.put('team-a/given', {
      ...leaving,
      metadata: { ...leaving.metadata, deletionTimestamp: 'x' },
    } as never);
    expect([...index.published('team-a').keys()]).to.deep.equal([B]);
  });

  it('never publishes an expired key as one that lasts for ever', () => {
    const index = new KeyStore();
    index.put('team-a/old', key('old', { sha256: A, expiresAt: '1970-01-01T00:00:00Z' }));
    expect(index.published('team-a').get(A)?.exp).to.equal(1);
  });
});

describe('the Secrets of a spec', () => {
  it('are all that a pod could not start without', () => {
    const index = new ModelStore('example', () => true);
    index.put(
      'team-a/one',
      model('one', {
        spec: {
          model: {
            id: 'm',
            source: { huggingFace: { repo: 'a/b', tokenSecret: { name: 'hf', key: 'token' } } },
          },
          engine: {
            preset: 'vllm',
            env: [
              { name: 'A', valueFrom: { secretKeyRef: { name: 'env', key: 'a' } } },
              { name: 'B', valueFrom: { secretKeyRef: { name: 'maybe', key: 'b', optional: true } } },
              { name: 'C', value: 'plain' },
            ],
            envFrom: [{ secretRef: { name: 'all' } }, { configMapRef: { name: 'map' } }],
          },
          template: {
            volumes: [
              { name: 'v', secret: { secretName: 'volume' } },
              { name: 'e', emptyDir: {} },
            ],
          },
        },
      }),
    );
    const parsed = index.get('team-a/one');
    const references = parsed?.ok ? listSecretReferences(parsed.value) : [];
    expect(references.map(({ name, keys }) => [name, ...keys])).to.deep.equal([
      ['hf', 'token'],
      ['env', 'a'],
      ['all'],
      ['volume'],
    ]);
  });
});
