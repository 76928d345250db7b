import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { API_VERSION } from '../../../contract/kubernetes-types.ts';
import { type ControlPlane, startControlPlane } from '../../cluster/control-plane.ts';
import { createKubeRequest, type KubeRequest } from '../../support/kube-request.ts';

type Spec = Record<string, unknown>;

const llm = (more: Spec = {}): Spec => ({
  kind: 'LLM',
  model: { id: 'org/model' },
  engine: { preset: 'simulator' },
  ...more,
});

const GOOD: [string, string, Spec][] = [
  ['the least ModelDeployment', 'ModelDeployment', llm()],
  [
    'weights from Hugging Face with a cache',
    'ModelDeployment',
    llm({ model: { id: 'm', source: { huggingFace: { repo: 'a/b', cache: { size: '10Gi' } } } } }),
  ],
  ['a MIG slice', 'ModelDeployment', llm({ gpu: { count: 1, resourceName: 'nvidia.com/mig-1g.10gb' } })],
  ['CPU as a number', 'ModelDeployment', llm({ resources: { requests: { cpu: 2, memory: '1Gi' } } })],
  [
    'environment from a Secret',
    'ModelDeployment',
    llm({
      engine: {
        preset: 'simulator',
        env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
      },
    }),
  ],
  ['scaling to zero', 'ModelDeployment', llm({ scaling: { min: 0, max: 3 } })],
  [
    'a video model with a native spec',
    'ModelDeployment',
    {
      kind: 'Video',
      model: { id: 'v' },
      engine: { preset: 'simulator' },
      video: { resolutions: ['832x480'], native: { seconds: 5, fps: 16 } },
    },
  ],
  [
    'a toleration and an affinity',
    'ModelDeployment',
    llm({ template: { tolerations: [{ key: 'a', operator: 'Exists' }], affinity: { nodeAffinity: {} } } }),
  ],
  ['an APIKey without a spec', 'APIKey', {}],
  ['an APIKey of your own', 'APIKey', { sha256: 'a'.repeat(64), rpm: 5, expiresAt: '2030-01-01T00:00:00Z' }],
  ['a WebhookEndpoint', 'WebhookEndpoint', { url: 'https://example.com/hook' }],
  ['a StorageCredential', 'StorageCredential', { bucket: 'results', secret: 'keys' }],
];

/** What is refused, and the words that the message must carry: the field and what is allowed. */
const BAD: [string, string, Spec, RegExp[]][] = [
  [
    'an unknown kind',
    'ModelDeployment',
    { ...llm(), kind: 'Audio' },
    [/spec\.kind/, /"LLM", "Embedding", "Image", "Video"/],
  ],
  ['no model id', 'ModelDeployment', { ...llm(), model: {} }, [/spec\.model\.id/, /Required/]],
  [
    'an unknown preset',
    'ModelDeployment',
    { ...llm(), engine: { preset: 'ollama' } },
    [/spec\.engine\.preset/, /"vllm"/],
  ],
  [
    'a preset that does not serve the kind',
    'ModelDeployment',
    { ...llm(), engine: { preset: 'tei' } },
    [/engine\.preset/, /tei does not serve kind LLM/, /llama-cpp/],
  ],
  [
    'custom without an image',
    'ModelDeployment',
    { ...llm(), engine: { preset: 'custom' } },
    [/engine\.image is required/],
  ],
  [
    'two sources',
    'ModelDeployment',
    llm({ model: { id: 'm', source: { none: {}, pvc: { claimName: 'c' } } } }),
    [/spec\.model\.source/, /exactly one of huggingFace, s3, pvc, image, none/],
  ],
  [
    'replicas beside scaling',
    'ModelDeployment',
    llm({ replicas: 2, scaling: { max: 3 } }),
    [/replicas and scaling cannot be given together/],
  ],
  [
    'scaling with min over max',
    'ModelDeployment',
    llm({ scaling: { min: 4, max: 3 } }),
    [/scaling\.min must not exceed scaling\.max/],
  ],
  [
    'negative replicas',
    'ModelDeployment',
    llm({ replicas: -1 }),
    [/spec\.replicas/, /greater than or equal to 0/],
  ],
  [
    'replicas as text',
    'ModelDeployment',
    llm({ replicas: 'two' }),
    [/spec\.replicas/, /must be of type integer/],
  ],
  [
    'a GPU resource without a domain',
    'ModelDeployment',
    llm({ gpu: { resourceName: 'gpu' } }),
    [/spec\.gpu\.resourceName/],
  ],
  [
    'a duration without a unit',
    'ModelDeployment',
    llm({ limits: { requestTimeout: '120' } }),
    [/spec\.limits\.requestTimeout/],
  ],
  [
    'a size that is no size',
    'ModelDeployment',
    { kind: 'Image', model: { id: 'i' }, engine: { preset: 'simulator' }, image: { sizes: ['big'] } },
    [/spec\.image\.sizes/],
  ],
  [
    'image settings on a chat model',
    'ModelDeployment',
    llm({ image: { sizes: ['512x512'] } }),
    [/spec\.image is allowed with kind Image only/],
  ],
  [
    'steps out of order',
    'ModelDeployment',
    {
      kind: 'Image',
      model: { id: 'i' },
      engine: { preset: 'simulator' },
      image: { steps: { min: 5, max: 3, default: 4 } },
    },
    [/min <= default <= max/],
  ],
  [
    'an HTTPRoute without a Gateway',
    'ModelDeployment',
    llm({ route: { type: 'HTTPRoute' } }),
    [/route\.gateway is required/],
  ],
  ['an unknown field', 'ModelDeployment', llm({ gpus: 1 }), [/unknown field "spec\.gpus"/]],
  ['an RPM of 0', 'APIKey', { rpm: 0 }, [/spec\.rpm/, /greater than or equal to 1/]],
  ['a short hash', 'APIKey', { sha256: 'abc' }, [/spec\.sha256/]],
  ['an expiry that is no time', 'APIKey', { expiresAt: 'tomorrow' }, [/spec\.expiresAt/, /date-time/]],
  [
    'an unknown event type',
    'WebhookEndpoint',
    { url: 'https://x', eventTypes: ['request.started'] },
    [/eventTypes/, /"request\.completed"/],
  ],
  ['a credit with a sign', 'Workspace', { credit: '-5' }, [/spec\.credit/]],
  ['an owner that is no address', 'Workspace', { ownerEmail: 'nobody' }, [/spec\.ownerEmail/]],
];

describe('the resources on a real API server', () => {
  let controlPlane: ControlPlane;
  let request: KubeRequest;
  let created = 0;

  const plural = (kind: string) => `${kind.toLowerCase()}s`;
  const path = (kind: string) =>
    `/apis/${API_VERSION}/namespaces/default/${plural(kind)}?fieldValidation=Strict`;
  const create = (kind: string, spec: Spec) =>
    request('POST', path(kind), {
      apiVersion: API_VERSION,
      kind,
      metadata: { name: kind === 'Workspace' ? 'workspace' : `object-${created++}` },
      spec,
    });

  before(async () => {
    controlPlane = await startControlPlane();
    request = createKubeRequest(controlPlane);
    for (const file of readdirSync('crds')) {
      const definition = parse(readFileSync(`crds/${file}`, 'utf8'));
      const { status, body } = await request(
        'POST',
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
        definition,
      );
      expect(status, JSON.stringify(body)).to.equal(201);
    }
    await request.until('GET', path('ModelDeployment'), ({ status }) => status === 200);
    await request.until('GET', path('StorageCredential'), ({ status }) => status === 200);
  });
  after(() => controlPlane?.close());

  for (const [what, kind, spec] of GOOD)
    it(`takes ${what}`, async () => {
      const { status, body } = await create(kind, spec);
      expect(status, JSON.stringify(body)).to.equal(201);
    });

  for (const [what, kind, spec, words] of BAD)
    it(`refuses ${what}, naming the field and what is allowed`, async () => {
      const { status, body } = await create(kind, spec);
      expect(status, JSON.stringify(body)).to.be.oneOf([400, 422]);
      for (const word of words) expect(body.message).to.match(word);
    });

  it('fills in the defaults', async () => {
    const { body } = await create('ModelDeployment', llm());
    expect(body.spec.limits.requestTimeout).to.equal('120s');
    expect(body.spec.model.source).to.deep.equal({ none: {} });
    const { body: key } = await create('APIKey', {});
    expect([key.spec.rpm, key.spec.tpd]).to.deep.equal([60, 1_000_000]);
  });

  it('refuses a second Workspace name', async () => {
    const { status, body } = await request('POST', path('Workspace'), {
      apiVersion: API_VERSION,
      kind: 'Workspace',
      metadata: { name: 'mine' },
    });
    expect(status).to.equal(422);
    expect(body.message).to.match(/named workspace/);
  });

  it('refuses a name that leaves no room for the children’s', async () => {
    const { status, body } = await request('POST', path('ModelDeployment'), {
      apiVersion: API_VERSION,
      kind: 'ModelDeployment',
      metadata: { name: 'a'.repeat(46) },
      spec: llm(),
    });
    expect(status).to.equal(422);
    expect(body.message).to.match(/at most 45 characters/);
  });

  it('refuses a change of id', async () => {
    const { body } = await create('ModelDeployment', llm({ id: 7 }));
    const { status, body: refusal } = await request(
      'PUT',
      `${path('ModelDeployment').split('?')[0]}/${body.metadata.name}`,
      {
        ...body,
        spec: { ...body.spec, id: 8 },
      },
    );
    expect(status).to.equal(422);
    expect(refusal.message).to.match(/id is immutable/);
  });

  it('scales by the scale subresource', async () => {
    const { body } = await create('ModelDeployment', llm({ replicas: 1 }));
    const scale = `${path('ModelDeployment').split('?')[0]}/${body.metadata.name}/scale`;
    const { body: before } = await request('GET', scale);
    const { status } = await request('PUT', scale, { ...before, spec: { replicas: 3 } });
    expect(status).to.equal(200);
    const { body: after } = await request('GET', scale.replace('/scale', ''));
    expect(after.spec.replicas).to.equal(3);
  });
});
