/** Which settings of the installation have changed since a pod template was created. */
import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import { GATEWAY_ENV } from '../../api/gateway-environment.ts';
import { CONTAINERS } from '../../api/names.ts';
import { stableStringify } from '../../kube/object.ts';

/** Setting of each gateway variable; other variables depend only on the version. */
const SETTINGS: readonly [name: string, variables: readonly string[]][] = [
  ['the Redis address', [GATEWAY_ENV.redisURL]],
  ['the master key', [GATEWAY_ENV.drainToken]],
  ['the egress rules', [GATEWAY_ENV.egressAllow, GATEWAY_ENV.egressDeny, GATEWAY_ENV.egressPlainHTTP]],
  ['the storage address', [GATEWAY_ENV.storageURL]],
  ["the gateway's log level", [GATEWAY_ENV.logLevel]],
  ['the tracing', [GATEWAY_ENV.tracingEndpoint, GATEWAY_ENV.tracingRatio]],
];

/** Names of the settings that differ between a kept template and one built now; their values may be secret. */
export function findStaleSettings(kept: V1PodTemplateSpec, current: V1PodTemplateSpec): string[] {
  const [before, now] = [findGateway(kept), findGateway(current)];
  // An unrecognized template does not show which settings it has.
  if (!before || !now) return [];
  const read = ({ env = [] }: typeof now, variable: string) =>
    env.find(({ name }) => name === variable)?.value;
  const stale = SETTINGS.filter(([, variables]) =>
    variables.some((variable) => read(before, variable) !== read(now, variable)),
  ).map(([name]) => name);
  const resources = [before, now].map((container) => stableStringify(container.resources ?? {}));
  return resources[0] === resources[1] ? stale : [...stale, "the gateway's resources"];
}

const findGateway = ({ spec }: V1PodTemplateSpec) =>
  spec?.initContainers?.find(({ name }) => name === CONTAINERS.gateway);
