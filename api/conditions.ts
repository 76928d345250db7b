/** The conditions of Berth's objects, each with the kinds that have it and its meaning. Reasons are CamelCase words. */

export interface ConditionDefinition {
  kind: string;
  type: string;
  meaning: string;
}

export const CONDITIONS = {
  ready: {
    kind: 'all',
    type: 'Ready',
    meaning:
      'The object matches its spec. A deployment: the spec is accepted, the route works, and at least one replica is ready. Or none is desired: Paused, ScaledToZero. A key: the gateways know it. Active shows whether requests with it are accepted. A workspace: it is accepted. A webhook endpoint: events are delivered, or it is Disabled by its spec. A credential: it is verified. A change that the API server refuses (Accepted: Forbidden) leaves a deployment Ready by what serves. False or Unknown: the message names the first obstacle.',
  },
  reconciling: {
    kind: 'ModelDeployment',
    type: 'Reconciling',
    meaning:
      'The deployment serves, but does not match its spec yet: a rollout is in progress, or the API server refuses a change (Forbidden), or fewer replicas are ready than spec.replicas or scaling.min. Replicas beyond scaling.min do not count. Absent otherwise.',
  },
  stalled: {
    kind: 'all',
    type: 'Stalled',
    meaning:
      'Waiting does not help. The spec is refused until it is edited, the name of an image is malformed, or a webhook endpoint is AutoDisabled. Or the engine has crashed at least four times, and the kubelet pauses before the next start. Or no replica became ready before the progress deadline of the Deployment (ProgressDeadlineExceeded). Absent otherwise, as for a missing Secret, a host in use, an image that cannot be pulled, or too few GPUs.',
  },
  accepted: {
    kind: 'all',
    type: 'Accepted',
    meaning:
      'The spec is valid and applied. False: the message names the field, and the reason is, for example, HostConflict, IdConflict or SecretNotFound.',
  },
  progressing: {
    kind: 'ModelDeployment',
    type: 'Progressing',
    meaning: 'A rollout or a change of scale is in progress; False when it is complete or stuck.',
  },
  available: {
    kind: 'ModelDeployment',
    type: 'Available',
    meaning:
      'At least one replica is ready. False: NoReplicaReady, or Paused and ScaledToZero where none is desired.',
  },
  fits: {
    kind: 'ModelDeployment',
    type: 'Fits',
    meaning:
      'The model fits into the memory of its GPUs, by its config and the size of its weights. This includes the KV cache for spec.concurrency requests (1 if absent) of the whole context. Absent for engines other than vllm and sglang on GPUs. False: WeightsTooLarge, ContextTooLong, ConcurrencyTooHigh, SmallerGPUs, TooFewGPUs (the message has the numbers, and what would fit). Unknown: SourceNotRead, LookupDisabled, ModelNotRead, NotLookedUp, GPUMemoryUnknown, NotEstimated. An estimate: the deployment is started in any case.',
  },
  gpusAvailable: {
    kind: 'ModelDeployment',
    type: 'GPUsAvailable',
    meaning:
      'Every pod has its GPUs. False: the message says how many nodes fit, or that a pod is waiting for another to drain. GPUsShort: the autoscaler needs more replicas than the cluster has GPUs for. DeviceClassNotFound. EvictedBeforeReady: at least two pods were evicted before one was ready. Unknown: WaitingForQuota (Kueue holds the pods back; the message has the queue and its words), SchedulingGated (another controller does).',
  },
  imagePulled: { kind: 'ModelDeployment', type: 'ImagePulled', meaning: 'All images were pulled.' },
  weightsLoaded: {
    kind: 'ModelDeployment',
    type: 'WeightsLoaded',
    meaning:
      'The weights are present: the init containers that download them have succeeded, and an engine that downloads them itself has been healthy once.',
  },
  engineHealthy: {
    kind: 'ModelDeployment',
    type: 'EngineHealthy',
    meaning:
      'The engine passes its health check. False: Starting, EngineUnhealthy (it was healthy before), or a crash, with the lines of its log that report an error, or else its last one. True, StartedWithoutParsers: the parsers of a guessed model family did not fit.',
  },
  adapterReady: {
    kind: 'ModelDeployment',
    type: 'AdapterReady',
    meaning:
      'At least one engine of the base has loaded the adapter, with its current source; absent for deployments that are none. False: NotAccepted (the base does not serve it), Downloading, DownloadFailed (with the words of the Job), BaseNotReady, Loading, LoadFailed (with the words of the engine). Unknown: NotReported while Redis is unavailable.',
  },
  routeReady: {
    kind: 'ModelDeployment',
    type: 'RouteReady',
    meaning:
      'The host is published and reachable through its Ingress or HTTPRoute, for an HTTPRoute as reported by its Gateway. False: HostConflict, HostNotAllowed, NoIngressClass, AnnotationNotAllowed, TLSSecretNotAllowed, NoGateway, NoHTTPRoute, NotAcceptedByGateway, RefsNotResolved. Unknown: NotPublished, WaitingForGateway.',
  },
  storageReady: {
    kind: 'ModelDeployment',
    type: 'StorageReady',
    meaning:
      'The StorageCredential named in spec.storage.credential is verified; absent if none is named. False: CredentialNotFound, CredentialNotVerified. The deployment serves requests in either case.',
  },
  trafficReady: {
    kind: 'ModelDeployment',
    type: 'TrafficReady',
    meaning:
      'The versions in spec.traffic answer their shares; absent if none is named. False: MemberNotFound, MemberNotSupported (the message has the difference), MemberPaused, MemberNotReady, SidecarOutdated. The share of such a member stays with the deployment, and the others answer theirs.',
  },
  updateAvailable: {
    kind: 'ModelDeployment',
    type: 'UpdateAvailable',
    meaning:
      'The operator has a newer sidecar than the pods run, or newer settings for it (NewerSettings names them). The message says whether the installation updates the pods automatically; changing rollout.revision updates them now.',
  },
  queueOpen: {
    kind: 'Workspace',
    type: 'QueueOpen',
    meaning:
      "Images and videos can be queued. False, QueueRefused: requests are answered with 503. Redis could lose them (the message says why), its memory or the workspace's share of it is nearly full, or the workspace's Redis user is suspended. True, RedisSettings: requests are queued, but settings of Redis are wrong (the message names what to change).",
  },
  active: {
    kind: 'APIKey, WebhookEndpoint',
    type: 'Active',
    meaning:
      'Requests with the key are accepted. False: NotAccepted, Disabled (spec.disabled), Expired. A webhook endpoint: events are delivered. False: NotAccepted, Disabled (spec.enabled), AutoDisabled after 20 consecutive permanent failures, NotSigned without a valid signing secret. Unknown: NotPublished while Redis is unavailable.',
  },
  verified: {
    kind: 'StorageCredential',
    type: 'Verified',
    meaning:
      'A test object was written to the bucket, read and deleted, through signed links as results are.',
  },
} as const satisfies Record<string, ConditionDefinition>;

export type ConditionType = (typeof CONDITIONS)[keyof typeof CONDITIONS]['type'];
