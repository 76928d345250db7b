/** Which adapters a base serves, and why it does not serve one. Decided anew each time: a base may change. */
import { adapterPort, canServeAdapters } from '../../api/model-adapter.ts';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { toMillis } from '../../kube/time.ts';
import { isAdmitted } from '../status/adapter.ts';
import type { Problem } from '../status/problem.ts';

/** What its pods could use alone: an adapter has none. The rest of the template is for the Job that downloads it. */
const USED_BY_JOB = ['serviceAccountName', 'imagePullSecrets'];

/** `candidates`: all adapters that name the base. */
export function listServed(
  base: ModelDeployment,
  candidates: readonly ModelDeployment[],
): readonly ModelDeployment[] {
  if (findBaseProblem(base).length > 0) return [];
  return candidates.filter((adapter) => isAdmitted(adapter) && !findPortOwner(adapter, base, candidates));
}

/** `candidates`: all adapters that name the base, this one among them. */
export function findAdapterProblems(
  adapter: ModelDeployment,
  base: ModelDeployment | undefined,
  candidates: readonly ModelDeployment[],
): Problem[] {
  const { template, adapterOf } = adapter.spec;
  const unused = Object.keys(template).filter((field) => !USED_BY_JOB.includes(field));
  if (!base)
    return [
      { reason: 'BaseNotFound', message: `spec.adapterOf: ModelDeployment ${adapterOf!.deployment} not found` },
    ];
  const owner = findPortOwner(adapter, base, candidates);
  return [
    ...findBaseProblem(base),
    ...(unused.length > 0
      ? [
          {
            reason: 'NoPods',
            message: `spec.template: an adapter has no pods of its own: ${unused.join(', ')} would not be used`,
          },
        ]
      : []),
    ...(owner
      ? [
          {
            reason: 'PortTaken',
            message: `port ${adapterPort(adapter.metadata.name)}, which follows from the name, is used by ${owner}: use another name`,
          },
        ]
      : []),
  ];
}

/** What else has the port that follows from an adapter's name: the engine, or an adapter that was admitted or created before. */
function findPortOwner(
  adapter: ModelDeployment,
  base: ModelDeployment,
  candidates: readonly ModelDeployment[],
): string | undefined {
  const port = adapterPort(adapter.metadata.name);
  if (base.spec.engine.port === port) return `the engine of ${base.metadata.name}`;
  return candidates.find((other) => adapterPort(other.metadata.name) === port && isBefore(other, adapter))
    ?.metadata.name;
}

function isBefore(one: ModelDeployment, other: ModelDeployment): boolean {
  if (one.metadata.uid === other.metadata.uid) return false;
  if (isAdmitted(one) !== isAdmitted(other)) return isAdmitted(one);
  const age = toMillis(one.metadata.creationTimestamp) - toMillis(other.metadata.creationTimestamp);
  return age === 0 ? one.metadata.uid < other.metadata.uid : age < 0;
}

/** `--no-enable-lora` and `--no_enable_lora`. */
const IS_SWITCHED_OFF = /^--no[-_]enable[-_]lora$/;

function findBaseProblem({ metadata: { name }, spec }: ModelDeployment): Problem[] {
  const refuse = (message: string): Problem[] => [
    { reason: 'BaseNotSupported', message: `spec.adapterOf: ${name} ${message}` },
  ];
  if (spec.adapterOf) return refuse('is an adapter, too');
  if (spec.kind !== 'LLM' || !canServeAdapters(spec.engine.preset))
    return refuse(`serves ${spec.kind} with ${spec.engine.preset}: adapters need an LLM with vllm`);
  if (spec.engine.args.some((arg) => IS_SWITCHED_OFF.test(arg)))
    return refuse('turns adapters off: remove --no-enable-lora from its spec.engine.args');
  if (spec.scaling?.min === 0)
    return refuse(
      'may scale to zero replicas, and requests for an adapter cannot wake it: set scaling.min to 1',
    );
  if (spec.scaling?.idle === 'Sleep')
    return refuse('may sleep while idle, which unloads nothing but refuses the adapter: remove scaling.idle');
  return [];
}
