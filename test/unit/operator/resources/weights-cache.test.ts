import type { V1JobSpec } from '@kubernetes/client-node';
import { expect } from 'chai';
import { buildPrefetchJob, cacheEntry } from '../../../../operator/resources/weights-cache.ts';
import { build, makeModel, SETTINGS, variable } from './fixtures.ts';

const CACHE = { claimName: 'models' };
const HUB = { repo: 'Qwen/Qwen3-8B', revision: 'v2', tokenSecret: { name: 'hf', key: 'token' } };
const S3 = { uri: 's3://models/qwen/v1', endpoint: 'https://s3.example.com', secret: 'keys' };

const withSource = (source: object, settings = {}) => build({ model: { id: 'm', source } }, settings);
const entryOf = (source: object, spec: object = {}) =>
  cacheEntry(makeModel({ model: { id: 'm', source: { ...source, cache: CACHE } }, ...spec }));

describe('weights of a shared cache', () => {
  it('are loaded by an init container, and read offline from the folder of their source alone', () => {
    const { pod, engine } = withSource({ huggingFace: HUB, cache: CACHE });
    const entry = entryOf({ huggingFace: HUB });
    const loader = pod.initContainers![1]!;
    expect(loader).to.deep.include({ name: 'fetch-weights', args: ['weights/main.js'] });
    expect(variable(loader, 'WEIGHTS_ENTRY')!.value).to.equal(entry);
    expect(variable(loader, 'HF_TOKEN')!.valueFrom!.secretKeyRef).to.deep.equal(HUB.tokenSecret);
    expect(loader.securityContext).to.include({ readOnlyRootFilesystem: true, runAsNonRoot: true });
    expect(engine.volumeMounts!.find(({ name }) => name === 'weights')).to.deep.equal({
      name: 'weights',
      mountPath: '/models',
      subPath: entry,
      readOnly: true,
    });
    expect(engine.args).to.include('/models/current').and.not.to.include('--revision=v2');
    expect(variable(engine, 'HF_HUB_OFFLINE')!.value).to.equal('1');
    expect(variable(engine, 'HF_TOKEN')).to.equal(undefined);
    expect(pod.volumes!.find(({ name }) => name === 'weights')!.persistentVolumeClaim).to.deep.equal({
      claimName: 'models',
    });
  });

  it('come from S3 as well, with keys that the engine does not get', () => {
    const { pod, engine } = withSource({ s3: S3, cache: { ...CACHE, limit: '10Gi' } });
    const loader = pod.initContainers![1]!;
    expect(variable(loader, 'WEIGHTS_S3_URI')!.value).to.equal(S3.uri);
    expect(variable(loader, 'WEIGHTS_LIMIT_BYTES')!.value).to.equal(String(10 * 1024 ** 3));
    expect(variable(loader, 'WEIGHTS_S3_SECRET_ACCESS_KEY')!.valueFrom!.secretKeyRef!.name).to.equal('keys');
    expect(JSON.stringify(engine)).not.to.include('keys');
    expect(variable(engine, 'HF_HUB_OFFLINE')).to.equal(undefined);
  });

  it('are kept from eviction by the gateway', () => {
    const { pod } = withSource({ huggingFace: HUB, cache: CACHE });
    const gateway = pod.initContainers![0]!;
    const path = variable(gateway, 'GATEWAY_WEIGHTS_LEASE')!.value!;
    const mount = gateway.volumeMounts!.find(({ name }) => name === 'weights')!;
    expect(path).to.equal(`${mount.mountPath}/${entryOf({ huggingFace: HUB })}/leases`);
  });

  it('lie in another folder where anything of their source differs, credentials included', () => {
    const sources = [
      { huggingFace: HUB },
      { huggingFace: { ...HUB, revision: 'v3' } },
      { huggingFace: { ...HUB, tokenSecret: undefined } },
      { huggingFace: { ...HUB, tokenSecret: { name: 'other', key: 'token' } } },
      { s3: S3 },
      { s3: { ...S3, secret: undefined } },
      { s3: { ...S3, endpoint: 'https://other.example.com' } },
    ];
    const entries = sources.map((source) => entryOf(source));
    expect(new Set(entries).size).to.equal(sources.length);
    for (const entry of entries) expect(entry).to.match(/^[a-z0-9][a-z0-9.-]{0,60}$/);
    expect(entryOf({ s3: { ...S3, size: '5Gi' } })).to.equal(entryOf({ s3: S3 }));
    expect(entryOf({ huggingFace: { repo: '../..' } })).to.match(/^model-[0-9a-f]{16}$/);
  });

  it('lie in another folder where another hub, token or identity of the pod is asked', () => {
    const withVariables = (...env: object[]) =>
      entryOf({ huggingFace: HUB }, { engine: { preset: 'vllm', env } });
    const entries = [
      withVariables(),
      withVariables({ name: 'HF_ENDPOINT', value: 'https://evil.example.com' }),
      withVariables({ name: 'HF_TOKEN', value: 'hf_own' }),
      withVariables({ name: 'HTTPS_PROXY', value: 'http://nowhere.example.com' }),
    ];
    expect(new Set(entries).size).to.equal(entries.length);
    expect(withVariables({ name: 'VLLM_LOGGING_LEVEL', value: 'DEBUG' })).to.equal(entries[0]);
    const identity = { s3: { uri: S3.uri, workloadIdentity: true } };
    const as = (serviceAccountName: string) => entryOf(identity, { template: { serviceAccountName } });
    expect(as('reader')).to.not.equal(as('nobody')).and.not.equal(entryOf(identity));
    const s3 = { s3: S3 };
    expect(entryOf(s3, { template: { serviceAccountName: 'reader' } })).to.equal(entryOf(s3));
  });

  it('are loaded with each variable once, that of the engine before that of the installation', () => {
    const { pod } = build(
      {
        model: { id: 'm', source: { huggingFace: HUB, cache: CACHE } },
        engine: {
          preset: 'vllm',
          env: [
            { name: 'HF_ENDPOINT', value: 'https://own.example.com' },
            { name: 'HF_TOKEN', value: 'hf_own' },
            { name: 'HTTPS_PROXY', value: 'http://proxy.example.com' },
          ],
        },
      },
      { downloadEnv: [{ name: 'HF_ENDPOINT', value: 'https://mirror.example.com' }] },
    );
    const loader = pod.initContainers![1]!;
    const names = loader.env!.map(({ name }) => name);
    expect(names).to.have.length(new Set(names).size);
    expect(variable(loader, 'HF_ENDPOINT')!.value).to.equal('https://own.example.com');
    expect(variable(loader, 'HF_TOKEN')!.value).to.equal('hf_own');
    expect(variable(loader, 'NODE_USE_ENV_PROXY')!.value).to.equal('1');
  });

  it('are prefetched without a GPU, by pods that no Service selects, and make room for nobody', () => {
    const source = { huggingFace: HUB, cache: CACHE };
    const model = makeModel({ model: { id: 'm', source }, gpu: { count: 2 } });
    const job = buildPrefetchJob(model, SETTINGS)!;
    const { template } = job.spec as V1JobSpec;
    expect(job.metadata).to.deep.include({ name: 'qwen-prefetch' });
    expect(template.metadata!.labels).to.deep.equal({
      'app.kubernetes.io/managed-by': 'berth',
      'app.kubernetes.io/component': 'prefetch',
    });
    const [loader] = template.spec!.containers;
    expect(variable(loader!, 'WEIGHTS_POD_NAME')).to.equal(undefined);
    expect(variable(loader!, 'WEIGHTS_REQUIRED')).to.equal(undefined);
    expect(Object.keys(loader!.resources!.limits!)).to.deep.equal(['memory']);
    expect((job.spec as V1JobSpec).activeDeadlineSeconds).to.be.greaterThan(3_600);
    expect(template.spec!.tolerations).to.equal(undefined);
    const off = makeModel({
      model: { id: 'm', source: { ...source, cache: { ...CACHE, prefetch: false } } },
    });
    expect(buildPrefetchJob(off, SETTINGS)).to.equal(undefined);
    expect(
      buildPrefetchJob(makeModel({ model: { id: 'm', source: { huggingFace: HUB } } }), SETTINGS),
    ).to.equal(undefined);
  });

  it('are refused for llama.cpp from the hub, which needs the name of a file', () => {
    const { problems } = withSource({ huggingFace: { repo: 'a/b' }, cache: CACHE });
    expect(problems).to.deep.equal([]);
    const llama = build({
      engine: { preset: 'llama-cpp' },
      model: { id: 'm', source: { huggingFace: { repo: 'a/b' }, cache: CACHE } },
    });
    expect(llama.problems.map(({ reason }) => reason)).to.include('SourceNotSupported');
    const file = build({
      engine: { preset: 'llama-cpp' },
      model: { id: 'm', source: { s3: { uri: 's3://models/a/tiny.gguf' }, cache: CACHE } },
    });
    expect(file.problems).to.deep.equal([]);
    expect(file.engine.args).to.include('/models/current/tiny.gguf');
  });
});
