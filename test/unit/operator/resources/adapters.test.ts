import type { V1JobSpec, V1Service } from '@kubernetes/client-node';
import { expect } from 'chai';
import { buildGatewayConfig } from '../../../../api/gateway-config.ts';
import { adapterPort } from '../../../../api/model-adapter.ts';
import { buildAdapterConfig } from '../../../../operator/resources/adapter-config.ts';
import { serveAdapter, withAdapters } from '../../../../operator/resources/adapters.ts';
import { buildAdapterChildren } from '../../../../operator/resources/children.ts';
import { build, makeModel, SETTINGS } from './fixtures.ts';

const makeAdapter = (
  name: string,
  { repo = 'acme/sql-lora', ...spec }: { repo?: string; [field: string]: unknown } = {},
) =>
  makeModel(
    {
      model: { id: `acme/${name}`, source: { huggingFace: { repo }, cache: { claimName: 'models' } } },
      engine: undefined,
      adapterOf: { deployment: 'qwen' },
      ...spec,
    },
    { name, uid: `uid-${name}` },
  );

const BASE = makeModel();
const serve = (...args: Parameters<typeof makeAdapter>) => serveAdapter(makeAdapter(...args), BASE);

describe('an adapter', () => {
  it('is served under an engine name that changes with its source, so that a stale one is never asked', () => {
    const [one, other] = [serve('sql'), serve('sql', { repo: 'acme/sql-lora-2' })];
    const nameOf = (served: typeof one) => buildAdapterConfig(served, SETTINGS).servedModelName;
    expect(nameOf(one)).to.match(/^sql-[0-9a-f]{16}$/);
    expect(nameOf(other)).not.to.equal(nameOf(one));
    expect(one.path).to.match(/^\/var\/lib\/berth-adapters\/models\/sql-lora-[0-9a-f]{16}\/current$/);
    expect(other.path).not.to.equal(one.path);
  });

  it('is downloaded with its own token, whatever the variables of its base', () => {
    const variable = (value: string) => ({
      engine: { preset: 'vllm', env: [{ name: 'HF_TOKEN', value }], envFrom: [{ secretRef: { name: 'x' } }] },
    });
    const huggingFace = { repo: 'acme/sql-lora', tokenSecret: { name: 'mine', key: 'token' } };
    const adapter = makeAdapter('sql', { model: { id: 'sql', source: { huggingFace, cache: { claimName: 'models' } } } });
    const [one, rotated] = ['one', 'two'].map((token) => serveAdapter(adapter, makeModel(variable(token))));
    expect(rotated).to.have.property('path', one!.path);
    const { prefetchJob } = buildAdapterChildren(one!, SETTINGS, []);
    const { containers } = (prefetchJob!.spec as V1JobSpec).template.spec!;
    expect(containers[0]!.env!.filter(({ name }) => name === 'HF_TOKEN')).to.deep.equal([
      { name: 'HF_TOKEN', valueFrom: { secretKeyRef: { name: 'mine', key: 'token' } } },
    ]);
  });

  it('is downloaded until that succeeds, for the group by which the pods of its base read it', () => {
    const base = makeModel({ template: { podSecurityContext: { fsGroup: 77 } } });
    const { prefetchJob } = buildAdapterChildren(serveAdapter(makeAdapter('sql'), base), SETTINGS, []);
    const { backoffLimit, activeDeadlineSeconds, template } = prefetchJob!.spec as V1JobSpec;
    expect({ backoffLimit, activeDeadlineSeconds }).to.deep.equal({
      backoffLimit: 2_147_483_647,
      activeDeadlineSeconds: undefined,
    });
    expect(template.spec!.securityContext).to.include({ fsGroup: 77 });
  });

  it('has a Service without pods once its base no longer serves it: another adapter may have its port', () => {
    const problems = [{ reason: 'PortTaken', message: '' }];
    const { objects } = buildAdapterChildren(serve('sql'), SETTINGS, problems);
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
    const served = serveAdapter(makeAdapter('sql'), makeModel({ paused: true }));
    expect(buildAdapterConfig(served, SETTINGS).paused).to.equal(true);
  });

  it('has a Service of the pods of its base, a route of its own and a download, but no pods', () => {
    const { objects, prefetchJob, url } = buildAdapterChildren(serve('sql'), SETTINGS, []);
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
  const argsOf = (...names: string[]) =>
    withAdapters(
      BASE,
      names.map((name) => serve(name)),
    ).spec.engine.args;

  it('are those that they are while it has no adapter', () => {
    expect(withAdapters(BASE, [])).to.equal(BASE);
  });

  it('load adapters at run time, and see those of the base alone, read-only', () => {
    const { engine, pod } = build(BASE, {}, { adapters: [serve('sql')] });
    expect(engine.args).to.include.members(['--enable-lora', '--max-loras=4', '--max-lora-rank=16']);
    expect(engine.env).to.deep.include({ name: 'VLLM_ALLOW_RUNTIME_LORA_UPDATING', value: '1' });
    expect(engine.volumeMounts).to.deep.include({
      name: 'berth-adapters-0',
      mountPath: '/var/lib/berth-adapters/models',
      subPath: '.adapters/qwen',
      readOnly: true,
    });
    expect(pod.volumes).to.deep.include({
      name: 'berth-adapters-0',
      persistentVolumeClaim: { claimName: 'models' },
    });
  });

  it('are the same for a second adapter of the same rank and claim: it restarts nothing', () => {
    expect(argsOf('sql', 'law')).to.deep.equal(argsOf('sql'));
    expect(argsOf('a', 'b', 'c', 'd', 'e')).to.include('--max-loras=8');
  });

  it('keep the flags that their spec gives, and no other contradicts them: vLLM needs as much room in memory as on the GPU', () => {
    const flagsOf = (...args: string[]) =>
      withAdapters(makeModel({ engine: { preset: 'vllm', args } }), [serve('sql')]).spec.engine.args.filter(
        (arg) => arg.includes('loras'),
      );
    expect(flagsOf('--max-loras', '8')).to.deep.equal(['--max-cpu-loras=8', '--max-loras']);
    expect(flagsOf('--max-cpu-loras=2')).to.deep.equal(['--max-loras=2', '--max-cpu-loras=2']);
    expect(flagsOf()).to.deep.equal(['--max-loras=4', '--max-cpu-loras=4']);
  });

  it('accept connections on the ports of the adapters', () => {
    const text = JSON.stringify(build(BASE, {}, { adapters: [serve('sql')] }).find('NetworkPolicy'));
    expect(text).to.include(String(adapterPort('sql')));
  });
});
