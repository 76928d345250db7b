/** Grafts the current sidecar into a kept pod template; the engine's image, arguments and weights stay unchanged. */
import type { V1Container, V1PodSpec, V1PodTemplateSpec } from '@kubernetes/client-node';
import { CONTAINERS } from '../../api/names.ts';

/**
 * The kept template with the sidecar's parts from the current one: its container and volumes, the pod's metadata, and
 * the engine's probes and drain hook, which call it. Idempotent.
 */
export function graftSidecar(kept: V1PodTemplateSpec, current: V1PodTemplateSpec): V1PodTemplateSpec {
  const [old, next] = [findGateway(kept), findGateway(current)];
  // No version creates a template without a sidecar.
  if (!kept.spec || !current.spec || !old || !next) return current;
  const engine = current.spec.containers.find(({ name }) => name === CONTAINERS.engine);
  return {
    metadata: current.metadata,
    spec: {
      ...kept.spec,
      terminationGracePeriodSeconds: current.spec.terminationGracePeriodSeconds,
      initContainers: kept.spec.initContainers?.map((container) => (container === old ? next : container)),
      containers: kept.spec.containers.map((container) =>
        container.name === CONTAINERS.engine && engine ? graftHooks(container, engine) : container,
      ),
      volumes: graftVolumes(kept.spec, current.spec, { old, next }),
      ...graftPullSecrets(kept.spec, current.spec),
    },
  };
}

const findGateway = ({ spec }: V1PodTemplateSpec): V1Container | undefined =>
  spec?.initContainers?.find(({ name }) => name === CONTAINERS.gateway);

/** The kubelet's probes of the engine through the sidecar. */
function graftHooks(kept: V1Container, current: V1Container): V1Container {
  const { startupProbe, livenessProbe, lifecycle } = current;
  return { ...kept, startupProbe, livenessProbe, lifecycle };
}

function graftVolumes(
  kept: V1PodSpec,
  current: V1PodSpec,
  { old, next }: { old: V1Container; next: V1Container },
): V1PodSpec['volumes'] {
  const mountsOf = (containers: V1Container[]) =>
    new Set(containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)));
  const [before, now] = [mountsOf([old]), mountsOf([next])];
  const others = mountsOf([
    ...kept.containers,
    ...(kept.initContainers ?? []).filter((container) => container !== old),
  ]);
  return [
    ...(current.volumes ?? []).filter(({ name }) => now.has(name)),
    ...(kept.volumes ?? []).filter(({ name }) => !now.has(name) && (!before.has(name) || others.has(name))),
  ];
}

/** Keeps the pull Secrets of both: the new sidecar's image and the engine's old one may be in different registries. */
function graftPullSecrets(kept: V1PodSpec, current: V1PodSpec): Pick<V1PodSpec, 'imagePullSecrets'> {
  const names = [...(kept.imagePullSecrets ?? []), ...(current.imagePullSecrets ?? [])].map(
    ({ name }) => name,
  );
  return names.length === 0 ? {} : { imagePullSecrets: [...new Set(names)].map((name) => ({ name })) };
}
