import { expect } from 'chai';
import { gatewayConfig } from '../../../../api/gateway-config.ts';
import { storageToken, workspacePrefix, workspaceRedisPassword } from '../../../../api/identity.ts';
import type { KubeObject } from '../../../../kube/object.ts';
import type { OperatorSettings } from '../../../../operator/environment.ts';
import { build, makeModel, SETTINGS } from './fixtures.ts';

describe("a deployment's children", () => {
  it('are owned by it, with it as their controller', () => {
    for (const { kind, metadata } of build().objects)
      expect(metadata.ownerReferences, kind).to.deep.equal([
        {
          apiVersion: 'berth.dev/v1alpha1',
          kind: 'ModelDeployment',
          name: 'qwen',
          uid: 'uid-1',
          controller: true,
          blockOwnerDeletion: true,
        },
      ]);
  });

  it("never carry the parent's labels or annotations, by which Argo CD would prune them", () => {
    const tracked = { labels: { 'app.kubernetes.io/part-of': 'x' }, annotations: { 'argocd/id': 'y' } };
    const built = build(makeModel({}, tracked));
    expect(JSON.stringify(built.objects)).not.to.include('part-of').and.not.to.include('argocd');
  });

  it('are the same for the same arguments', () => {
    expect(build().objects).to.deep.equal(build().objects);
  });

  it('include a claim only where the spec asks for one of its own', () => {
    const cache = (cache: object) => ({
      model: { id: 'm', source: { huggingFace: { repo: 'a/b', cache } } },
    });
    expect(build(cache({ claimName: 'shared' })).has('PersistentVolumeClaim')).to.equal(false);
    const claim = build(cache({ size: '10Gi', storageClassName: 'fast' })).find('PersistentVolumeClaim');
    expect(claim.metadata.name).to.equal('qwen-weights');
    expect(claim.spec).to.deep.equal({
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'fast',
      resources: { requests: { storage: '10Gi' } },
    });
  });
});

describe('the Service', () => {
  it('selects the pods of this deployment alone, and only ready ones', () => {
    expect(build().find('Service').spec).to.deep.equal({
      type: 'ClusterIP',
      selector: { 'berth.dev/deployment': 'qwen', 'app.kubernetes.io/component': 'model' },
      publishNotReadyAddresses: false,
      ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
    });
  });
});

describe('the disruption budget', () => {
  it('lets one pod go at a time, and broken ones always', () => {
    expect(build().find('PodDisruptionBudget').spec).to.deep.include({
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    });
  });
});

describe('the network policy', () => {
  it("opens the gateway's and the metrics port, not the admin port", () => {
    const { ingress } = build().find('NetworkPolicy').spec as { ingress: { ports: { port: number }[] }[] };
    expect(ingress.map(({ ports }) => ports.map(({ port }) => port))).to.deep.equal([[8080, 9090]]);
  });

  it('is not made where the installation wants none', () => {
    expect(build({}, { networkPolicies: false }).has('NetworkPolicy')).to.equal(false);
  });
});

describe("the sidecar's Secret", () => {
  const read = (secret: KubeObject, file: string) => {
    const text = (secret.data as Record<string, string>)[file];
    return text === undefined ? undefined : Buffer.from(text, 'base64').toString();
  };
  const secretOf = (settings: Partial<OperatorSettings> = {}) => build({}, settings).find('Secret');

  it('holds the configuration that gateways check when they start', () => {
    const config = gatewayConfig.parse(JSON.parse(read(secretOf(), 'config.json')!));
    expect(config).to.include({ namespace: 'team-a', name: 'qwen', modelId: 'qwen/qwen3' });
  });

  it("holds the workspace's own Redis user, and never the operator's", () => {
    expect(read(secretOf(), 'redis-username')).to.equal('ws:team-a');
    expect(read(secretOf(), 'redis-password')).to.equal(workspaceRedisPassword(SETTINGS.masterKey, 'team-a'));
    expect(read(secretOf(), 'peer-token')).to.have.length.above(20);
  });

  it("holds the authority of Redis' certificate, where there is one", () => {
    expect(read(secretOf(), 'redis-ca.crt')).to.equal(undefined);
    expect(read(secretOf({ readRedisCA: () => 'PEM' }), 'redis-ca.crt')).to.equal('PEM');
  });

  it("proves the workspace to the front's storage, and contains the prefix of its request IDs", () => {
    expect(read(secretOf(), 'storage-token')).to.equal(storageToken(SETTINGS.masterKey, 'team-a'));
    expect(read(secretOf(), 'request-prefix')).to.equal(workspacePrefix(SETTINGS.masterKey, 'team-a'));
  });

  it('holds the one shared user where users are off', () => {
    const secret = secretOf({ redisUsers: 'off' });
    expect(read(secret, 'redis-username')).to.equal('operator');
    expect(read(secretOf({ redisUsers: 'off', redisUsername: undefined }), 'redis-username')).to.equal(
      undefined,
    );
  });

  it('contains no user if the workspace has its own', () => {
    expect(read(secretOf({ redisUsers: 'external' }), 'redis-password')).to.equal(undefined);
  });
});

describe('what a spec shows to be wrong', () => {
  const cases: [string, object, string, RegExp][] = [
    [
      'a port of the gateway',
      { engine: { preset: 'vllm', port: 8081 } },
      'PortTaken',
      /spec\.engine\.port 8081/,
    ],
    [
      'an engine without weights',
      { model: { id: 'm' } },
      'SourceMissing',
      /vllm needs a spec\.model\.source/,
    ],
    [
      'a copy of a whole image',
      { model: { id: 'm', source: { image: { reference: 'w:1', mode: 'Copy' } } } },
      'SourceIncomplete',
      /image\.path is required/,
    ],
    [
      'a folder for llama.cpp',
      {
        model: { id: 'm', source: { pvc: { claimName: 'c', path: 'dir' } } },
        engine: { preset: 'llama-cpp' },
      },
      'SourceNotSupported',
      /\.gguf/,
    ],
    [
      'a claim for one node with several replicas',
      { model: { id: 'm', source: { huggingFace: { repo: 'a/b', cache: { size: '1Gi' } } } }, replicas: 2 },
      'ClaimNotShared',
      /ReadWriteMany/,
    ],
    ['a host of its own', { route: { host: 'evil.com' } }, 'HostNotAllowed', /evil\.com/],
    [
      'an annotation that is not let through',
      { route: { annotations: { 'nginx.ingress.kubernetes.io/server-snippet': 'x' } } },
      'AnnotationNotAllowed',
      /server-snippet/,
    ],
  ];
  for (const [name, spec, reason, message] of cases)
    it(`names ${name}`, () => {
      const { problems } = build(spec);
      expect(problems.map((problem) => problem.reason)).to.deep.equal([reason]);
      expect(problems[0]!.message).to.match(message);
    });

  const fine: [string, object][] = [
    [
      'replicas that are held on one node',
      {
        model: { id: 'm', source: { huggingFace: { repo: 'a/b', cache: { size: '1Gi' } } } },
        replicas: 2,
        template: { nodeSelector: { 'kubernetes.io/hostname': 'n1' } },
      },
    ],
    [
      'weights in the image of the engine, named in its arguments',
      { model: { id: 'm' }, engine: { preset: 'vllm', image: 'baked:1', args: ['/weights'] } },
    ],
    ['a host and an annotation that are let through', { route: { host: 'a.llm.example.com' } }],
  ];
  for (const [name, spec] of fine) it(`is not ${name}`, () => expect(build(spec).problems).to.deep.equal([]));
});
