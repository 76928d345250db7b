import { expect } from 'chai';
import { build, makeModel } from './fixtures.ts';

type Case = [what: string, spec: object, words: RegExp];
const engine = (more: object) => ({ engine: { preset: 'vllm', ...more } });
const template = (more: object) => ({ template: more });
const messages = (...args: Parameters<typeof build>) =>
  build(...args)
    .problems.map(({ reason, message }) => `${reason}: ${message}`)
    .join('\n');

describe("Secrets of Berth's own", () => {
  const source = (value: object) => ({ model: { id: 'm', source: value } });
  const cases: Case[] = [
    [
      "the sidecar's, as environment",
      engine({ envFrom: [{ secretRef: { name: 'qwen-gateway' } }] }),
      /spec\.engine\.envFrom\[0\]\.secretRef: Secret qwen-gateway/,
    ],
    [
      'one that is not there yet',
      engine({ envFrom: [{ secretRef: { name: 'later-gateway', optional: true } }] }),
      /later-gateway/,
    ],
    [
      'a key of one',
      engine({
        env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'other-gateway', key: 'redis-password' } } }],
      }),
      /spec\.engine\.env\[0\]\.valueFrom\.secretKeyRef: Secret other-gateway/,
    ],
    [
      'one as the token of a hub',
      source({ huggingFace: { repo: 'a/b', tokenSecret: { name: 'qwen-gateway', key: 'redis-password' } } }),
      /huggingFace\.tokenSecret: Secret qwen-gateway/,
    ],
    [
      'one as keys of a bucket',
      source({ s3: { uri: 's3://bucket', secret: 'qwen-gateway' } }),
      /source\.s3\.secret/,
    ],
    [
      'one as a volume',
      template({ volumes: [{ name: 'a', secret: { secretName: 'qwen-gateway' } }] }),
      /volumes\[0\]/,
    ],
    [
      'one within a projected volume',
      template({ volumes: [{ name: 'a', projected: { sources: [{ secret: { name: 'x-api-key' } }] } }] }),
      /volumes\[0\]\.projected\.sources\[0\]\.secret: Secret x-api-key/,
    ],
    [
      "one of a volume's driver",
      template({
        volumes: [{ name: 'a', csi: { driver: 'd', nodePublishSecretRef: { name: 'qwen-gateway' } } }],
      }),
      /nodePublishSecretRef/,
    ],
    [
      'the signing secret',
      engine({ envFrom: [{ secretRef: { name: 'berth-signing-secret' } }] }),
      /berth-signing-secret/,
    ],
    ['one as a pull secret', template({ imagePullSecrets: ['qwen-gateway'] }), /imagePullSecrets\[0\]/],
  ];
  for (const [what, spec, words] of cases)
    it(`are given to no engine: ${what}`, () => {
      expect(messages(spec))
        .to.match(/^SecretNotAllowed: .*engines cannot use it/)
        .and.match(words);
    });

  it("are those of the installation too, in Berth's namespace", () => {
    const spec = engine({ envFrom: [{ secretRef: { name: 'berth-master-key' } }] });
    expect(messages(makeModel(spec, { namespace: 'berth-system' }))).to.match(/SecretNotAllowed/);
    expect(messages(spec)).to.equal('');
  });

  it("are the workspace's Redis user where an administrator made it", () => {
    const spec = engine({ envFrom: [{ secretRef: { name: 'berth-redis' } }] });
    expect(messages(spec, { redisUsers: 'external' })).to.match(/SecretNotAllowed/);
    expect(messages(spec)).to.equal('');
  });
});

describe("the gateway's volumes", () => {
  it('are mounted by no engine', () => {
    const spec = template({ volumeMounts: [{ name: 'gateway-secret', mountPath: '/stolen' }] });
    expect(messages(spec)).to.match(/^VolumeNotAllowed: .*volumeMounts\[0\]\.name: gateway-secret/);
  });

  it('are replaced by none of the same name', () => {
    for (const name of ['gateway-tmp', 'home', 'weights', 'shared-memory'])
      expect(messages(template({ volumes: [{ name, emptyDir: {} }] }))).to.match(/^VolumeNotAllowed/);
  });

  it('have that of the KV cache only if there is one', () => {
    const own = { volumes: [{ name: 'kv-cache', emptyDir: {} }] };
    expect(messages(template(own))).to.equal('');
    const kvCache = { cpu: '40Gi', disk: '200Gi' };
    const spec = { ...engine({ preset: 'sglang', kvCache }), template: own };
    expect(messages(spec)).to.match(/^VolumeNotAllowed/);
  });

  it('leave others free to be mounted, those of weights too', () => {
    const spec = template({
      volumes: [{ name: 'scratch', emptyDir: {} }],
      volumeMounts: [
        { name: 'scratch', mountPath: '/scratch' },
        { name: 'weights', mountPath: '/again' },
      ],
    });
    expect(messages(spec)).to.equal('');
  });
});

describe('fields that reach the node', () => {
  const cases: [object, RegExp][] = [
    [{ volumes: [{ name: 'root', hostPath: { path: '/' } }] }, /volumes\[0\]\.hostPath/],
    [{ securityContext: { privileged: true } }, /securityContext\.privileged/],
    [{ securityContext: { allowPrivilegeEscalation: true } }, /allowPrivilegeEscalation/],
    [{ securityContext: { allowPrivilegeEscalation: null } }, /allowPrivilegeEscalation null/],
    [
      { securityContext: { capabilities: { add: ['IPC_LOCK', 'CAP_SYS_ADMIN'] } } },
      /capabilities\.add CAP_SYS_ADMIN/,
    ],
    [{ securityContext: { capabilities: null } }, /capabilities null/],
    [{ securityContext: { procMount: 'Unmasked' } }, /procMount Unmasked/],
    [{ securityContext: { seccompProfile: { type: 'Unconfined' } } }, /seccompProfile\.type Unconfined/],
    [
      { podSecurityContext: { appArmorProfile: { type: 'Unconfined' } } },
      /podSecurityContext\.appArmorProfile/,
    ],
    [{ podSecurityContext: { sysctls: [{ name: 'net.core.somaxconn', value: '1' }] } }, /sysctls/],
    [{ securityContext: { seLinuxOptions: { type: 'spc_t' } } }, /seLinuxOptions\.type spc_t/],
    [{ podSecurityContext: { seLinuxOptions: { role: 'system_r' } } }, /seLinuxOptions\.role system_r/],
    [{ podSecurityContext: { windowsOptions: { hostProcess: true } } }, /hostProcess/],
  ];
  for (const [fields, words] of cases)
    it(`are taken only where the installation says so: ${words.source}`, () => {
      expect(messages(template(fields)))
        .to.match(/^PodFieldNotAllowed/)
        .and.match(words);
      expect(messages(template(fields), { podFields: allow(true) })).to.equal('');
    });

  it('are none where an engine drops more, takes another user or level, or locks its memory', () => {
    const seLinuxOptions = { type: 'container_t', level: 's0:c1,c2' };
    const capabilities = { drop: ['ALL'], add: ['IPC_LOCK'] };
    const securityContext = { runAsUser: 1000, capabilities, seLinuxOptions };
    expect(messages(template({ securityContext }))).to.equal('');
  });
});

const GROUPS = {
  images: engine({ image: 'own:1' }),
  secrets: engine({ envFrom: [{ secretRef: { name: 'a' } }] }),
  serviceAccounts: template({ serviceAccountName: 'a' }),
  volumes: template({ volumes: [{ name: 'a', nfs: { server: 's', path: '/' } }] }),
  security: template({ securityContext: { runAsUser: 7 } }),
  metadata: template({ annotations: { a: 'b' } }),
  priority: template({ priorityClassName: 'high' }),
  runtime: { gpu: { runtimeClassName: 'nvidia' } },
  placement: template({ nodeSelector: { a: 'b' } }),
} as const;
const allow = (host: boolean, groups = Object.keys(GROUPS) as (keyof typeof GROUPS)[]) => ({ groups, host });

describe('groups of pod fields', () => {
  for (const [group, spec] of Object.entries(GROUPS))
    it(`are refused alone where the installation does not take them: ${group}`, () => {
      const others = Object.keys(GROUPS).filter((name) => name !== group) as (keyof typeof GROUPS)[];
      expect(messages(spec, { podFields: allow(false, others) })).to.match(
        new RegExp(`^PodFieldNotAllowed: .*with ${group} in the chart's podFields\\.everyone$`),
      );
      expect(messages(spec, { podFields: allow(false) })).to.equal('');
    });

  it("have Kueue's priority, which preempts others, among them", () => {
    const model = makeModel({}, { labels: { 'kueue.x-k8s.io/priority-class': 'high' } });
    const words =
      /^PodFieldNotAllowed: metadata\.labels\[kueue\.x-k8s\.io\/priority-class\].*with priority in/;
    expect(messages(model, { podFields: allow(false, []) })).to.match(words);
    expect(messages(model, { podFields: allow(false, ['priority']) })).to.equal('');
  });

  it('leave all that a model needs to everyone', () => {
    const spec = {
      replicas: 2,
      resources: { limits: { memory: '8Gi' } },
      gpu: { count: 2, sharedMemory: '4Gi' },
      engine: {
        preset: 'vllm',
        args: ['--max-model-len=8192'],
        env: [
          { name: 'A', value: 'b' },
          { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
        ],
      },
      model: { id: 'm', source: { pvc: { claimName: 'weights' } } },
      template: { volumes: [{ name: 'scratch', emptyDir: {} }] },
    };
    expect(messages(spec, { podFields: allow(false, []) })).to.equal('');
  });
});
