import { createHash } from 'node:crypto';
import type { V1JobSpec, V1Service } from '@kubernetes/client-node';
import { expect } from 'chai';
import { buildGatewayConfig } from '../../../../api/gateway-config.ts';
import { adapterPort } from '../../../../api/model-adapter.ts';
import { buildAdapterConfig } from '../../../../operator/resources/adapter-config.ts';
import { serveAdapter, withAdapters } from '../../../../operator/resources/adapters.ts';
import { buildAdapterChildren, buildChildren } from '../../../../operator/resources/children.ts';
import { build, makeModel, SETTINGS } from './fixtures.ts';

const makeAdapter = (
  name: string,
  { repo = 'acme/sql-lora', ...spec }: { repo?: string; [field: string]: unknown } = {},
) =>
  makeModel(
    {
      model: { id: `acme/${name}`, source: { huggingFace: { repo } } },
      engine: undefined,
      adapterOf: { deployment: 'qwen' },
      ...spec,
    },
    { name, uid: `uid-${name}` },
  );

const makeBase = (spec: { engine?: object; [field: string]: unknown } = {}) =>
  makeModel({ ...spec, engine: { preset: 'vllm', adapters: { claimName: 'models' }, ...spec.engine } });
const BASE = makeBase();
const ACCEPTED = { problems: [], isServed: true };
const serve = (...args: Parameters<typeof makeAdapter>) => serveAdapter(makeAdapter(...args), BASE);

describe('an adapter', () => {
  it('is served under an engine name that changes with its source, so that a stale one is never asked', () => {
    const [one, other] = [serve('sql'), serve('sql', { repo: 'acme/sql-lora-2' })];
    const nameOf = (served: typeof one) => buildAdapterConfig(served, SETTINGS).servedModelName;
    expect(nameOf(one)).to.match(/^sql-[0-9a-f]{16}$/);
    expect(nameOf(other)).not.to.equal(nameOf(one));
    expect(one.path).to.match(/^\/var\/lib\/berth-adapters\/sql-lora-[0-9a-f]{16}\/current$/);
    expect(other.path).not.to.equal(one.path);
  });

  it('is served as it was downloaded last, until its new source is there', () => {
    const adapter = makeAdapter('sql', { repo: 'acme/sql-lora-2' });
    const entry = 'sql-lora-0123456789abcdef';
    const downloaded = (claimName: string) => ({
      ...adapter,
      status: { ...adapter.status, adapter: { claimName, entry } },
    });
    const before = serveAdapter(downloaded('models'), BASE);
    expect(before.path).to.include(entry);
    expect(before.model.spec.engine.servedModelName).to.equal('sql-0123456789abcdef');
    expect(before.wanted!.entry).to.match(/^sql-lora-2-/);
    // Into another claim it is downloaded anew; the engines that have it know it by its source.
    const moved = serveAdapter(downloaded('others'), BASE);
    expect(moved.path).to.equal(before.path);
    expect(moved.wanted).to.deep.equal({ claimName: 'models', entry: before.wanted!.entry });
  });

  it('is downloaded with its own token, whatever the variables of its base', () => {
    const variable = (value: string) => ({
      engine: { env: [{ name: 'HF_TOKEN', value }], envFrom: [{ secretRef: { name: 'x' } }] },
    });
    const huggingFace = { repo: 'acme/sql-lora', tokenSecret: { name: 'mine', key: 'token' } };
    const adapter = makeAdapter('sql', { model: { id: 'sql', source: { huggingFace } } });
    const [one, rotated] = ['one', 'two'].map((token) => serveAdapter(adapter, makeBase(variable(token))));
    expect(rotated).to.have.property('path', one!.path);
    const { prefetchJob } = buildAdapterChildren(one!, SETTINGS, ACCEPTED);
    const { containers } = (prefetchJob!.spec as V1JobSpec).template.spec!;
    expect(containers[0]!.env!.filter(({ name }) => name === 'HF_TOKEN')).to.deep.equal([
      { name: 'HF_TOKEN', valueFrom: { secretKeyRef: { name: 'mine', key: 'token' } } },
    ]);
  });

  it('is downloaded until that succeeds, for the group by which the pods of its base read it', () => {
    const base = makeBase({ template: { podSecurityContext: { fsGroup: 77 } } });
    const { prefetchJob } = buildAdapterChildren(serveAdapter(makeAdapter('sql'), base), SETTINGS, ACCEPTED);
    const { backoffLimit, activeDeadlineSeconds, template } = prefetchJob!.spec as V1JobSpec;
    expect({ backoffLimit, activeDeadlineSeconds }).to.deep.equal({
      backoffLimit: 2_147_483_647,
      activeDeadlineSeconds: undefined,
    });
    expect(template.spec!.securityContext).to.include({ fsGroup: 77 });
    // Without, its Job would succeed on a full volume, and the adapter be switched to what is not there.
    expect(template.spec!.containers[0]!.env).to.deep.include({ name: 'WEIGHTS_REQUIRED', value: 'true' });
  });

  it('has a Service without pods while its base does not serve it: another adapter may have its port', () => {
    const { objects } = buildAdapterChildren(serve('sql'), SETTINGS, { problems: [], isServed: false });
    expect((objects[0] as unknown as V1Service).spec!.selector).to.include({ 'berth.dev/deployment': 'sql' });
  });

  it('has its own id, prices and limits, and the routes and habits of its base', () => {
    const config = buildAdapterConfig(
      serve('sql', { pricing: { perMillionInputTokens: '2' }, limits: { requestTimeout: '7s' } }),
      SETTINGS,
    );
    expect(config).to.deep.include({
      name: 'sql',
      modelId: 'acme/sql',
      enginePreset: 'vllm',
      concurrency: null,
    });
    expect(config.pricing.perMillionInputTokens).to.equal(2_000_000);
    expect(config.limits.requestTimeoutMs).to.equal(7_000);
    expect(config.adapter).to.deep.include({ base: 'qwen', port: adapterPort('sql') });
    expect(config.routes).to.deep.equal(buildGatewayConfig(BASE).routes);
  });

  it('pauses with its base', () => {
    const served = serveAdapter(makeAdapter('sql'), makeBase({ paused: true }));
    expect(buildAdapterConfig(served, SETTINGS).paused).to.equal(true);
  });

  it('has a Service of the pods of its base, a route of its own and a download, but no pods', () => {
    const { objects, prefetchJob, url } = buildAdapterChildren(serve('sql'), SETTINGS, ACCEPTED);
    expect(objects.map(({ kind }) => kind)).to.deep.equal(['Service', 'Ingress']);
    const { spec } = objects[0] as unknown as V1Service;
    expect(spec!.selector).to.include({ 'berth.dev/deployment': 'qwen' });
    expect(spec!.ports![0]!.targetPort).to.equal(adapterPort('sql'));
    expect(url).to.equal('https://sql--team-a.models.example.com/v1');
    const [container] = (prefetchJob!.spec as V1JobSpec).template.spec!.containers;
    expect(container!.volumeMounts![0]).to.include({ subPath: '.adapters/qwen' });
  });
});

describe('the pods of a base', () => {
  const describePods = (adapters: object) => build(makeBase({ engine: { adapters } }));

  const IMAGE = 'vllm/vllm-openai:v0.30.0';

  /** Recorded without adapters, with the volume for files of batches: whoever changes them knows that new pods differ. */
  for (const [what, spec, recorded] of [
    ['vllm', { engine: { preset: 'vllm', image: IMAGE } }, 'a0b95df254ff921e3399f8623497ef18'],
    [
      'with a volume of the same name',
      {
        engine: { preset: 'vllm', image: IMAGE },
        scaling: { min: 0, max: 3 },
        template: { volumes: [{ name: 'adapters', emptyDir: {} }] },
      },
      'bca586a141bbcfdd781b86257d86c125',
    ],
    [
      'a simulator',
      { engine: { preset: 'simulator' }, model: { id: 'm', source: { none: {} } } },
      '102f7b011ac80091e3d54777e7f0f79c',
    ],
  ] as const)
    it(`are byte for byte what they were without adapters: ${what}`, () => {
      const text = JSON.stringify(buildChildren(makeModel(spec), SETTINGS).objects);
      expect(createHash('sha256').update(text).digest('hex').slice(0, 32)).to.equal(recorded);
    });

  it('load adapters at run time, and see those of the base alone, read-only', () => {
    const { engine, pod } = build(BASE);
    expect(engine.args).to.include.members(['--enable-lora', '--max-loras=8', '--max-lora-rank=16']);
    expect(engine.env).to.deep.include({ name: 'VLLM_ALLOW_RUNTIME_LORA_UPDATING', value: '1' });
    expect(engine.volumeMounts).to.deep.include({
      name: 'adapters',
      mountPath: '/var/lib/berth-adapters',
      subPath: '.adapters/qwen',
      readOnly: true,
    });
    expect(pod.volumes).to.deep.include({ name: 'adapters', persistentVolumeClaim: { claimName: 'models' } });
  });

  it('are the same whatever adapters there are: none of them restarts the base', () => {
    const templateOf = (adapters: ReturnType<typeof serve>[]) =>
      JSON.stringify(build(BASE, {}, { adapters }).find('Deployment'));
    expect(templateOf([serve('sql'), serve('law')])).to.equal(templateOf([]));
  });

  it('have room for as many adapters as their spec says, of which at most 32 are on the GPU', () => {
    const { engine } = describePods({ claimName: 'models', max: 64, maxRank: '64' });
    expect(engine.args).to.include.members(['--max-loras=32', '--max-cpu-loras=64', '--max-lora-rank=64']);
  });

  it('keep the flags that their spec gives, and no other contradicts them: vLLM needs as much room in memory as on the GPU', () => {
    const flagsOf = (...args: string[]) =>
      withAdapters(makeBase({ engine: { args } })).spec.engine.args.filter((arg) => arg.includes('loras'));
    expect(flagsOf('--max-loras', '12')).to.deep.equal(['--max-cpu-loras=12', '--max-loras']);
    expect(flagsOf('--max-cpu-loras=2')).to.deep.equal(['--max-loras=2', '--max-cpu-loras=2']);
    expect(flagsOf()).to.deep.equal(['--max-loras=8', '--max-cpu-loras=8']);
  });

  it('have one API server, unless their spec says otherwise: vLLM loads an adapter in one alone', () => {
    const countOf = (...args: string[]) =>
      withAdapters(makeBase({ engine: { args } })).spec.engine.args.filter((arg) =>
        arg.startsWith('--api-server-count'),
      );
    expect(countOf('--data-parallel-size=2')).to.deep.equal(['--api-server-count=1']);
    expect(countOf('--api-server-count=2')).to.deep.equal(['--api-server-count=2']);
  });

  it('accept connections on the ports of the adapters', () => {
    const text = JSON.stringify(build(BASE, {}, { adapters: [serve('sql')] }).find('NetworkPolicy'));
    expect(text).to.include(String(adapterPort('sql')));
  });
});
