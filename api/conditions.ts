/** The conditions of Berth's objects, each with the one who sets it and when. Reasons are CamelCase words. */

export interface ConditionDefinition {
  kind: string;
  type: string;
  meaning: string;
}

export const CONDITIONS = {
  ready: {
    kind: 'ModelDeployment, APIKey, Workspace',
    type: 'Ready',
    meaning:
      'A request sent now is served: accepted, routed, and at least one replica ready; of a key or a workspace: the gateways know it. Its message is the first thing that stands in the way.',
  },
  accepted: {
    kind: 'all',
    type: 'Accepted',
    meaning:
      'The spec can be acted on. False names the field, e.g. HostConflict, IdConflict, SecretNotFound.',
  },
  progressing: {
    kind: 'ModelDeployment',
    type: 'Progressing',
    meaning: 'A rollout or a change of scale is under way; False when it is done or stuck.',
  },
  available: { kind: 'ModelDeployment', type: 'Available', meaning: 'At least one replica is ready.' },
  gpusAvailable: {
    kind: 'ModelDeployment',
    type: 'GPUsAvailable',
    meaning:
      'Every pod found its GPUs. False says how many nodes fit, or that a pod waits for one that drains.',
  },
  imagePulled: { kind: 'ModelDeployment', type: 'ImagePulled', meaning: 'Every image could be pulled.' },
  weightsLoaded: {
    kind: 'ModelDeployment',
    type: 'WeightsLoaded',
    meaning:
      'The weights are there: the init containers that fetch them have ended well, and an engine that fetches them itself has been healthy once.',
  },
  engineHealthy: {
    kind: 'ModelDeployment',
    type: 'EngineHealthy',
    meaning:
      'The engine answers its health check. False: Starting, EngineUnhealthy (it served before), or its last log lines when it crashed.',
  },
  routeReady: {
    kind: 'ModelDeployment',
    type: 'RouteReady',
    meaning:
      'The host is published, and reachable through its Ingress or HTTPRoute; of an HTTPRoute as its Gateway says. False: HostConflict, HostNotAllowed, NoIngressClass, AnnotationNotAllowed, TLSSecretNotAllowed, NoGateway, NoHTTPRoute, NotAcceptedByGateway, RefsNotResolved. Unknown: NotPublished, WaitingForGateway.',
  },
  storageReady: {
    kind: 'ModelDeployment',
    type: 'StorageReady',
    meaning:
      'The StorageCredential that spec.storage.credential names is verified; absent where none is named. False: CredentialNotFound, CredentialNotVerified. The deployment serves all the same.',
  },
  updateAvailable: {
    kind: 'ModelDeployment',
    type: 'UpdateAvailable',
    meaning:
      'The operator has a newer sidecar than the pods run, or newer settings for it (NewerSettings names them). The message says whether the installation rolls them; rollout.revision takes them at once.',
  },
  queueOpen: {
    kind: 'Workspace',
    type: 'QueueOpen',
    meaning:
      'Images and videos may be queued. False, QueueRefused: this Redis may lose them, for the reason in the message, or its memory, or the share of it that a workspace may take, is nearly full, or its Redis user is suspended; they are answered with 503.',
  },
  active: {
    kind: 'WebhookEndpoint',
    type: 'Active',
    meaning:
      'Deliveries are made. False: NotAccepted, Disabled (spec.enabled), AutoDisabled after 20 deliveries that failed for good in a row.',
  },
  verified: { kind: 'StorageCredential', type: 'Verified', meaning: 'A put, a get and a delete succeeded.' },
} as const satisfies Record<string, ConditionDefinition>;

export type ConditionType = (typeof CONDITIONS)[keyof typeof CONDITIONS]['type'];
