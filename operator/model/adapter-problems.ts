/** Why an adapter cannot be served by its base. */
import { adapterPort, canServeAdapters } from '../../api/model-adapter.ts';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import type { Problem } from '../status/problem.ts';

/** What its pods could use alone: an adapter has none. The rest of the template is for the Job that downloads it. */
const USED_BY_JOB = ['serviceAccountName', 'imagePullSecrets'];

/** `others`: the adapters of the same base that came first. */
export function findAdapterProblems(
  { metadata, spec }: ModelDeployment,
  base: ModelDeployment | undefined,
  others: readonly ModelDeployment[],
): Problem[] {
  const { deployment } = spec.adapterOf!;
  if (!base)
    return [{ reason: 'BaseNotFound', message: `spec.adapterOf: ModelDeployment ${deployment} not found` }];
  const unused = Object.keys(spec.template).filter((field) => !USED_BY_JOB.includes(field));
  const port = adapterPort(metadata.name);
  const clash = others.find(({ metadata: { name } }) => adapterPort(name) === port)?.metadata.name;
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
    ...(clash !== undefined || base.spec.engine.port === port
      ? [
          {
            reason: 'PortTaken',
            message: `port ${port}, which follows from the name, is used by ${clash ?? `the engine of ${deployment}`}: use another name`,
          },
        ]
      : []),
  ];
}

function findBaseProblem({ metadata: { name }, spec }: ModelDeployment): Problem[] {
  const refuse = (message: string): Problem[] => [
    { reason: 'BaseNotSupported', message: `spec.adapterOf: ${name} ${message}` },
  ];
  if (spec.adapterOf) return refuse('is an adapter, too');
  if (spec.kind !== 'LLM' || !canServeAdapters(spec.engine.preset))
    return refuse(`serves ${spec.kind} with ${spec.engine.preset}: adapters need an LLM with vllm`);
  if (spec.scaling?.min === 0)
    return refuse(
      'may scale to zero replicas, and requests for an adapter cannot wake it: set scaling.min to 1',
    );
  if (spec.scaling?.idle === 'Sleep')
    return refuse('may sleep while idle, which unloads nothing but refuses the adapter: remove scaling.idle');
  return [];
}
