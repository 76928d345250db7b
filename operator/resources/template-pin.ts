/** Keeps the pods' template as it was while the spec asks for the same pods, so that an upgrade restarts nothing. */
import { createHash } from 'node:crypto';
import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { type ModelDeploymentSpec, modelDeploymentSpec } from '../../contract/model-deployment.ts';
import { ANNOTATIONS } from '../../contract/names.ts';
import type { KubeObject } from '../kube/object.ts';
import { findStaleSettings } from './template-settings.ts';
import { dropDefaults, stableStringify } from './written-spec.ts';

export interface PinnedTemplate {
  template: V1PodTemplateSpec;
  sidecarVersion: string;
  /** Settings of the installation that are others by now, by name. */
  staleSettings: readonly string[];
  /** What the Deployment remembers it by. */
  annotations: Record<string, string>;
}

export interface TemplateBuild {
  spec: ModelDeploymentSpec;
  /** The Deployment as it is, if it is there. */
  live: Pick<KubeObject, 'metadata'> | undefined;
  version: string;
  build: () => V1PodTemplateSpec;
}

export function pinTemplate({ spec, live, version, build }: TemplateBuild): PinnedTemplate {
  const inputs = hashInputs(spec);
  const current = build();
  const kept = readKept(live, inputs);
  const { template, sidecarVersion } = kept ?? { template: current, sidecarVersion: version };
  return {
    template,
    sidecarVersion,
    staleSettings: findStaleSettings(template, current),
    annotations: {
      [ANNOTATIONS.templateInputs]: inputs,
      [ANNOTATIONS.template]: JSON.stringify(template),
      [ANNOTATIONS.sidecarVersion]: sidecarVersion,
    },
  };
}

function readKept(
  live: TemplateBuild['live'],
  inputs: string,
): Pick<PinnedTemplate, 'template' | 'sidecarVersion'> | undefined {
  const annotations = live?.metadata.annotations ?? {};
  const {
    [ANNOTATIONS.templateInputs]: before,
    [ANNOTATIONS.template]: text,
    [ANNOTATIONS.sidecarVersion]: sidecarVersion,
  } = annotations;
  if (before !== inputs || text === undefined || sidecarVersion === undefined) return undefined;
  try {
    return { template: JSON.parse(text) as V1PodTemplateSpec, sidecarVersion };
  } catch {
    return undefined;
  }
}

/**
 * Hash of the fields that make the pods. The stall time, limits, sizes, prices, concurrency, names for display, replicas, pausing and
 * routes are taken live. Defaults are left out: a field that a later version adds must not roll anything.
 */
export function hashInputs(spec: ModelDeploymentSpec): string {
  const { kind, model, engine, gpu, resources, rollout, template } = dropDefaults(
    modelDeploymentSpec,
    spec,
  ) as ModelDeploymentSpec;
  const inputs = {
    kind,
    model: { id: model.id, source: model.source },
    // Undefined members are no part of the text.
    engine: { ...engine, stallTimeout: undefined },
    gpu,
    resources,
    rollout: { drainTimeout: rollout?.drainTimeout, revision: rollout?.revision },
    template,
  };
  return createHash('sha256').update(stableStringify(inputs)).digest('hex').slice(0, 32);
}
