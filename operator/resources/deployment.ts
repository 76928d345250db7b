/** The Deployment of a ModelDeployment's pods. */
import type { V1DeploymentSpec } from '@kubernetes/client-node';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { childNames, podSelector } from '../../api/names.ts';
import { parseDuration } from '../../api/quantity.ts';
import type { KubeObject } from '../../kube/object.ts';
import { childMetadata } from './metadata.ts';
import { decideGrace, decideReplicas, toSeconds } from './replicas.ts';
import type { PinnedTemplate } from './template-pin.ts';

/** Scheduling and image pulls, beside the engine's own start. */
const MARGIN_MS = 600_000;

export function buildDeployment(model: ModelDeployment, pinned: PinnedTemplate): KubeObject {
  const { metadata, spec } = model;
  const { maxSurge } = spec.rollout;
  const startMs = parseDuration(spec.engine.startupTimeout);
  const deployment: V1DeploymentSpec = {
    replicas: decideReplicas(spec),
    revisionHistoryLimit: 2,
    // With a replacement to spare, no pod goes before it is ready; without one, one goes at a time.
    strategy: {
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge, maxUnavailable: maxSurge > 0 ? 0 : 1 },
    },
    // A replacement stays Pending while the old pod drains and holds the GPU.
    progressDeadlineSeconds: toSeconds(startMs + decideGrace(spec).graceMs + MARGIN_MS),
    selector: { matchLabels: podSelector(metadata.name) },
    template: pinned.template,
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: childMetadata(model, childNames(metadata.name).deployment, pinned.annotations),
    spec: deployment,
  };
}
