/**
 * Manifests that an API server takes or refuses, at least one refused for each rule of the definitions. What the newest Kubernetes
 * answers is in answers.json.
 */
export type Spec = Record<string, unknown>;

export interface Manifest {
  what: string;
  kind: string;
  spec: Spec;
  name?: string;
  /** For an update: the spec that the object has. */
  before?: Spec;
  /** Sent to the subresource, for an object with the spec. */
  status?: Spec;
}

const simulator = { preset: 'simulator' };

export const llm = (more: Spec = {}): Spec => ({
  kind: 'LLM',
  model: { id: 'org/model' },
  engine: simulator,
  ...more,
});

const ofKind = (kind: string, more: Spec = {}): Spec => llm({ kind, ...more });
const media = (kind: 'Image' | 'Video', fields: Spec): Spec => ofKind(kind, { [kind.toLowerCase()]: fields });
const from = (source: Spec): Spec => llm({ model: { id: 'm', source } });
const model = (what: string, spec: Spec, more: Partial<Manifest> = {}): Manifest => ({
  what,
  kind: 'ModelDeployment',
  spec,
  ...more,
});
const other = (kind: string, what: string, spec: Spec, more: Partial<Manifest> = {}): Manifest => ({
  what,
  kind,
  spec,
  ...more,
});
const storage = (what: string, fields: Spec, more: Partial<Manifest> = {}): Manifest =>
  other('StorageCredential', what, { bucket: 'results', secret: 'keys', ...fields }, more);
const named = (name: string, what: string): Manifest => model(what, llm(), { name });

const adapter = (more: Spec = {}): Spec => ({
  kind: 'LLM',
  model: { id: 'a', source: { huggingFace: { repo: 'a/b' } } },
  adapterOf: { deployment: 'base' },
  ...more,
});

const shares = (...weights: [string, number][]): Spec[] =>
  weights.map(([deployment, weight]) => ({ deployment, weight }));
const onePercent = (name: string): [string, number] => [name, 1];

const TIMERS_OF_LIMITS = [
  ...['requestTimeout', 'imageTimeout', 'imageJobTimeout', 'videoTimeout', 'waitForSlot', 'streamKeepAlive'],
  ...['headersTimeout', 'bodyTimeout', 'uploadTimeout'],
];
const each = (names: string[], value: unknown): Spec =>
  Object.fromEntries(names.map((name) => [name, value]));

/** With `timer` wherever a timer waits, and `retention` wherever something is kept. */
const durations = (timer: string, retention: string): Spec =>
  llm({
    engine: { ...simulator, ...each(['startupTimeout', 'stallTimeout'], timer) },
    scaling: {
      ...each(['stableWindow', 'panicWindow', 'idleTimeout', 'targetWait'], timer),
      coldStart: { holdFor: timer },
    },
    rollout: { drainTimeout: timer },
    limits: {
      ...each(TIMERS_OF_LIMITS, timer),
      ...each(['queueTTL', 'resultRetention', 'recordRetention'], retention),
    },
    slo: { timeToFirstToken: { within: timer } },
  });

const schedules = (...list: Spec[]): Spec => llm({ scaling: { max: 3, schedules: list } });
const morning = { cron: '0 8 * * 1-5' };

const MODELS: Manifest[] = [
  model('the least of a model', llm()),
  model(
    'weights from Hugging Face with a cache',
    from({ huggingFace: { repo: 'a/b', cache: { size: '10Gi' } } }),
  ),
  model('GPUs by device class', llm({ gpu: { deviceClass: 'gpu.nvidia.com', deviceSelectors: ['true'] } })),
  model('a MIG slice', llm({ gpu: { count: 1, resourceName: 'nvidia.com/mig-1g.10gb' } })),
  model('CPU as a number', llm({ resources: { requests: { cpu: 2, memory: '1Gi' } } })),
  model(
    'environment from a Secret',
    llm({
      engine: { ...simulator, env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] },
    }),
  ),
  model('the longest durations', durations('24d', '3650d')),
  model('the longest durations in hours', durations('576h', '87600h')),
  model('a mixture of units', llm({ limits: { requestTimeout: '1h30m', recordRetention: '90d' } })),
  model('the largest JSON body', llm({ limits: { jsonBody: '160Mi' } })),
  model('scaling to zero', llm({ scaling: { min: 0, max: 3 } })),
  model(
    'scaling by schedules',
    schedules({ cron: '*/5 8 1,15 JAN-MAR MON', timezone: 'Europe/Zurich', min: 1 }),
  ),
  model(
    'a video model with a native spec',
    media('Video', { resolutions: ['832x480'], native: { seconds: 5, fps: 16 } }),
  ),
  model(
    'a toleration and an affinity',
    llm({ template: { tolerations: [{ key: 'a', operator: 'Exists' }], affinity: { nodeAffinity: {} } } }),
  ),
  model(
    'steps as a parameter with their range',
    media('Image', { parameters: ['num_inference_steps'], steps: { min: 1, max: 50, default: 20 } }),
  ),
  model('other parameters without steps', media('Video', { parameters: ['seed', 'fps'] })),
  model('a range of steps alone', media('Video', { steps: { min: 1, max: 9, default: 4 } })),
  model('an unknown kind', ofKind('Audio')),
  model('a kind that is a number', llm({ kind: 5 })),
  model('a JSON body that no gateway can hold', llm({ limits: { jsonBody: '161Mi' } })),
  model('a file of a batch that no sidecar can hold', llm({ limits: { batchFile: '1025Mi' } })),
  model('an upload of a batch that takes too long', llm({ limits: { batchUploadTimeout: '25d' } })),
  model('no model id', llm({ model: {} })),
  model('an empty model id', llm({ model: { id: '' } })),
  model('a model id that is too long', llm({ model: { id: 'm'.repeat(201) } })),
  model('an unknown preset', llm({ engine: { preset: 'ollama' } })),
  model('a preset that does not serve the kind', llm({ engine: { preset: 'tei' } })),
  model('custom without an image', llm({ engine: { preset: 'custom' } })),
  model('two sources', from({ none: {}, pvc: { claimName: 'c' } })),
  model('a cache of a claim', from({ pvc: { claimName: 'c' }, cache: { claimName: 'd' } })),
  model(
    'a cache of weights that is neither there nor made',
    from({ huggingFace: { repo: 'a/b', cache: {} } }),
  ),
  model(
    'a secret and the identity of the workload',
    from({ s3: { uri: 's3://bucket/a', secret: 'keys', workloadIdentity: true } }),
  ),
  model('replicas beside scaling', llm({ replicas: 2, scaling: { max: 3 } })),
  model('scaling with min over max', llm({ scaling: { min: 4, max: 3 } })),
  model('a schedule without bounds', schedules(morning)),
  model('a schedule with min over max', schedules(morning, { ...morning, min: 3, max: 2 })),
  model('a schedule with seconds', schedules({ cron: '0 0 8 * * 1-5', min: 1 })),
  model('too many schedules', schedules(...Array.from({ length: 21 }, () => ({ ...morning, min: 1 })))),
  model('negative replicas', llm({ replicas: -1 })),
  model('replicas as text', llm({ replicas: 'two' })),
  model('replicas as a fraction', llm({ replicas: 1.5 })),
  model('arguments that are no list', llm({ engine: { ...simulator, args: '--verbose' } })),
  model('CPU that is true', llm({ resources: { requests: { cpu: true } } })),
  model('an availability that nothing reaches', llm({ slo: { availability: 100 } })),
  model('selectors of GPUs without a device class', llm({ gpu: { deviceSelectors: ['true'] } })),
  model('a GPU resource without a domain', llm({ gpu: { resourceName: 'gpu' } })),
  model('durations in days that no timer holds', durations('25d', '3651d')),
  model('durations in hours that no timer holds', durations('577h', '87601h')),
  model('days that are no integer of 64 bits', llm({ limits: { uploadTimeout: '99999999999999999999d' } })),
  model('a duration without a unit', llm({ limits: { requestTimeout: '120' } })),
  model('no sizes', media('Image', { sizes: [] })),
  model('a size that is no size', media('Image', { sizes: ['big'] })),
  model('image settings on a chat model', llm({ image: { sizes: ['512x512'] } })),
  model('video settings on a chat model', llm({ video: {} })),
  model('continued streams of embeddings', ofKind('Embedding', { resilience: { continueStreams: true } })),
  model('a balance of embeddings by prefix', ofKind('Embedding', { route: { balance: 'Prefix' } })),
  ...(['Image', 'Video'] as const).flatMap((kind) => [
    model(`steps of ${kind} models out of order`, media(kind, { steps: { min: 5, max: 3, default: 4 } })),
    model(
      `steps as a parameter of ${kind} models without their range`,
      media(kind, { parameters: ['seed', 'num_inference_steps'] }),
    ),
  ]),
  model('an unknown field', llm({ gpus: 1 })),
  named('a'.repeat(46), 'a name that leaves no room for those of its children'),
  named('qwen2.5-7b', 'a name with a dot'),
  named('7b', 'a name that begins with a digit'),
  model('another id', llm({ id: 8 }), { before: llm({ id: 7 }) }),
  model('a lost id', llm(), { before: llm({ id: 7 }) }),
  model('a late id', llm({ id: 7 }), { before: llm() }),
  model('a KV cache', llm({ engine: { ...simulator, kvCache: { cpu: '40Gi', disk: '200Gi' } } })),
  model('a KV cache without units', llm({ engine: { ...simulator, kvCache: { cpu: '40', disk: '1m' } } })),
  model('an adapter', adapter()),
  model('an adapter with pods of its own', adapter({ engine: simulator, replicas: 2 })),
  model('an adapter that is no LLM', adapter({ kind: 'Embedding' })),
  model('an adapter without a source', adapter({ model: { id: 'a' } })),
  model('no engine', { kind: 'LLM', model: { id: 'org/model' } }),
  model('traffic of two versions', llm({ traffic: shares(['v2', 60], ['v3', 40]) })),
  model('traffic of more than all', llm({ traffic: shares(['v2', 60], ['v3', 41]) })),
  model('traffic of one version twice', llm({ traffic: shares(['v2', 1], ['v2', 2]) })),
  model('traffic of no version', llm({ traffic: [] })),
  model(
    'traffic of six versions',
    llm({ traffic: shares(...['a', 'b', 'c', 'd', 'e', 'f'].map(onePercent)) }),
  ),
  model('traffic with a weight below nothing', llm({ traffic: shares(['v2', -1]) })),
  model('traffic of images', ofKind('Image', { traffic: shares(['v2', 10]) })),
  model('traffic of embeddings', ofKind('Embedding', { traffic: shares(['v2', 10]) })),
  model('traffic of an adapter', adapter({ traffic: shares(['v2', 10]) })),
  model('an adapter of another base', adapter({ adapterOf: { deployment: 'other' } }), { before: adapter() }),
  model(
    'an adapter with a cache of its own',
    adapter({ model: { id: 'a', source: { huggingFace: { repo: 'a/b' }, cache: { claimName: 'models' } } } }),
  ),
  model('room for adapters', llm({ engine: { ...simulator, adapters: { claimName: 'models' } } })),
  model(
    'room for adapters with sglang',
    llm({ engine: { preset: 'sglang', adapters: { claimName: 'models' } } }),
  ),
  model('an adapter that becomes a deployment', llm(), { before: adapter() }),
  model('an update that changes replicas', llm({ id: 7, replicas: 2 }), { before: llm({ id: 7 }) }),
  model('a status', llm(), { status: { phase: 'Ready' } }),
  model('a status with half a condition', llm(), {
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  }),
];

export const MANIFESTS: Manifest[] = [
  ...MODELS,
  other('APIKey', 'a key without a spec', {}),
  other('APIKey', 'a key of your own', { sha256: 'a'.repeat(64), rpm: 5, expiresAt: '2030-01-01T00:00:00Z' }),
  other('APIKey', 'a name that is too long', {}, { name: 'a'.repeat(201) }),
  other('APIKey', 'a name in capitals', {}, { name: 'My-Key' }),
  other('APIKey', 'an RPM of 0', { rpm: 0 }),
  other('APIKey', 'a short hash', { sha256: 'abc' }),
  other('APIKey', 'an expiry that is no time', { expiresAt: 'tomorrow' }),
  other('WebhookEndpoint', 'an endpoint', { url: 'https://example.com/hook' }),
  other('WebhookEndpoint', 'an unknown event type', { url: 'https://x', eventTypes: ['request.started'] }),
  storage('credentials', {}),
  storage('credentials of MinIO', {
    endpoint: 'http://minio.storage:9000/',
    region: 'any',
    prefix: 'berth/results/',
  }),
  storage('an endpoint with a path', { endpoint: 'https://s3.example.com/bucket' }),
  storage('a region with spaces', { region: 'eu central' }),
  storage('a bucket in capitals', { bucket: 'Results' }),
  storage('a prefix that climbs', { prefix: '../other' }),
  storage('another id of credentials', { id: 8 }, { before: { bucket: 'results', secret: 'keys', id: 7 } }),
  other('Workspace', 'another name than workspace', {}, { name: 'mine' }),
  other('Workspace', 'a credit with a sign', { credit: '-5' }),
  other('Workspace', 'inputs that are kept for long', { keepInputs: '31d' }),
  other('Workspace', 'an owner that is no address', { ownerEmail: 'nobody' }),
];
