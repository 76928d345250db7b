/** Specs that the API server accepts, and specs that it refuses. */
export type Spec = Record<string, unknown>;

export const llm = (more: Spec = {}): Spec => ({
  kind: 'LLM',
  model: { id: 'org/model' },
  engine: { preset: 'simulator' },
  ...more,
});

const media = (kind: 'Image' | 'Video', fields: Spec): Spec => ({
  kind,
  model: { id: 'm' },
  engine: { preset: 'simulator' },
  [kind.toLowerCase()]: fields,
});

/** Accepted: a description, the kind, its spec. */
export const GOOD: [string, string, Spec][] = [
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
  [
    'the longest durations',
    'ModelDeployment',
    llm({
      limits: { requestTimeout: '24d', uploadTimeout: '576h', recordRetention: '90d', bodyTimeout: '1h30m' },
    }),
  ],
  ['the largest JSON body', 'ModelDeployment', llm({ limits: { jsonBody: '160Mi' } })],
  ['scaling to zero', 'ModelDeployment', llm({ scaling: { min: 0, max: 3 } })],
  [
    'scaling by schedules',
    'ModelDeployment',
    llm({
      scaling: { max: 3, schedules: [{ cron: '*/5 8 1,15 JAN-MAR MON', timezone: 'Europe/Zurich', min: 1 }] },
    }),
  ],
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
  [
    'steps as a parameter with their range',
    'ModelDeployment',
    media('Image', { parameters: ['num_inference_steps'], steps: { min: 1, max: 50, default: 20 } }),
  ],
  ['other parameters without steps', 'ModelDeployment', media('Video', { parameters: ['seed', 'fps'] })],
  ['a range of steps alone', 'ModelDeployment', media('Video', { steps: { min: 1, max: 9, default: 4 } })],
  ['an APIKey without a spec', 'APIKey', {}],
  ['an APIKey of your own', 'APIKey', { sha256: 'a'.repeat(64), rpm: 5, expiresAt: '2030-01-01T00:00:00Z' }],
  ['a WebhookEndpoint', 'WebhookEndpoint', { url: 'https://example.com/hook' }],
  ['a StorageCredential', 'StorageCredential', { bucket: 'results', secret: 'keys' }],
];

/** Refused, and what the message must contain: the field and what is allowed. */
export const BAD: [string, string, Spec, RegExp[]][] = [
  [
    'an unknown kind',
    'ModelDeployment',
    { ...llm(), kind: 'Audio' },
    [/spec\.kind/, /"LLM", "Embedding", "Rerank", "Image", "Video", "Transcription", "Speech"/],
  ],
  [
    'a JSON body that no gateway can hold',
    'ModelDeployment',
    llm({ limits: { jsonBody: '161Mi' } }),
    [/spec\.limits\.jsonBody/, /must be at most 160Mi/],
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
    'a schedule without bounds',
    'ModelDeployment',
    llm({ scaling: { max: 3, schedules: [{ cron: '0 8 * * 1-5' }] } }),
    [/a schedule must give min, max or both/],
  ],
  [
    'a schedule with seconds',
    'ModelDeployment',
    llm({ scaling: { max: 3, schedules: [{ cron: '0 0 8 * * 1-5', min: 1 }] } }),
    [/spec\.scaling\.schedules\[0\]\.cron/],
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
    'a duration in hours that no timer holds',
    'ModelDeployment',
    llm({ limits: { uploadTimeout: '10000h' } }),
    [/uploadTimeout.*must be at most 24d/],
  ],
  [
    'a duration in days that no timer holds',
    'ModelDeployment',
    llm({ limits: { requestTimeout: '25d' } }),
    [/requestTimeout.*must be at most 24d/],
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
    'continued streams of embeddings',
    'ModelDeployment',
    {
      kind: 'Embedding',
      model: { id: 'e' },
      engine: { preset: 'simulator' },
      resilience: { continueStreams: true },
    },
    [/resilience\.continueStreams is allowed with kind LLM only/],
  ],
  [
    'a balance of embeddings by prefix',
    'ModelDeployment',
    {
      kind: 'Embedding',
      model: { id: 'e' },
      engine: { preset: 'simulator' },
      route: { balance: 'Prefix' },
    },
    [/route\.balance Prefix is allowed with kind LLM only/],
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
  ...(['Image', 'Video'] as const).map((kind): (typeof BAD)[number] => [
    `steps as a parameter of ${kind} models without their range`,
    'ModelDeployment',
    media(kind, { parameters: ['seed', 'num_inference_steps'] }),
    [new RegExp(`spec\\.${kind.toLowerCase()}`), /num_inference_steps needs steps: \{min, max, default\}/],
  ]),
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
  ['inputs that are kept for long', 'Workspace', { keepInputs: '31d' }, [/spec\.keepInputs/]],
  ['an owner that is no address', 'Workspace', { ownerEmail: 'nobody' }, [/spec\.ownerEmail/]],
];
