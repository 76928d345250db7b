/** Fields of a pod template that would give the engine access to its node. Pure. */
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { isObject } from '../../kit/json.ts';

type Template = Pick<ModelDeploymentSpec['template'], 'volumes' | 'podSecurityContext' | 'securityContext'>;
type Fields = Record<string, unknown>;

/** Low ports, and locked memory, which RDMA needs, are harmless. */
const HARMLESS_CAPABILITIES = ['NET_BIND_SERVICE', 'IPC_LOCK'];
/** Types that confine a container, as Pod Security's baseline accepts them; levels only separate pods from each other. */
const CONFINED_TYPES = ['container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'];

/** As paths below `template`, with their values if these are the problem. */
export function describeHostFields({ volumes, podSecurityContext, securityContext }: Template): string[] {
  return [
    ...(volumes ?? []).flatMap((volume, index) =>
      ['hostPath', 'flexVolume'].filter((kind) => kind in volume).map((kind) => `volumes[${index}].${kind}`),
    ),
    ...describeContext('podSecurityContext', podSecurityContext ?? {}),
    ...describeContext('securityContext', securityContext ?? {}),
  ];
}

function describeContext(path: string, context: Fields): string[] {
  const { capabilities, procMount, sysctls } = context;
  const added = listOf(read(capabilities).add).filter(
    (name) => !HARMLESS_CAPABILITIES.includes(bareName(name)),
  );
  const found = [
    context.privileged === true && 'privileged',
    context.allowPrivilegeEscalation === true && 'allowPrivilegeEscalation',
    added.length > 0 && `capabilities.add ${added.join(', ')}`,
    typeof procMount === 'string' && procMount !== 'Default' && `procMount ${procMount}`,
    listOf(sysctls).length > 0 && 'sysctls',
    ...['seccompProfile', 'appArmorProfile'].map(
      (profile) => read(context[profile]).type === 'Unconfined' && `${profile}.type Unconfined`,
    ),
    ...describeSELinux(read(context.seLinuxOptions)),
    read(context.windowsOptions).hostProcess === true && 'windowsOptions.hostProcess',
    // A default removed by null falls back to the container runtime's.
    ...['capabilities', 'allowPrivilegeEscalation', 'seccompProfile'].map(
      (field) => context[field] === null && `${field} null`,
    ),
  ];
  return found.filter((field) => typeof field === 'string').map((field) => `${path}.${field}`);
}

function describeSELinux({ type, user, role }: Fields): string[] {
  const given = Object.entries({
    user,
    role,
    type: CONFINED_TYPES.includes(String(type)) ? undefined : type,
  });
  return given.filter(([, value]) => value).map(([name, value]) => `seLinuxOptions.${name} ${value}`);
}

const read = (value: unknown): Fields => (isObject(value) ? value : {});
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const bareName = (capability: unknown): string => String(capability).toUpperCase().replace(/^CAP_/, '');
