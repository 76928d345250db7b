/** Which adapters a base serves, and why it does not serve one. Decided anew each time: a base may change. */
import { adapterPort } from '../../api/model-adapter.ts';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { toMillis } from '../../kube/time.ts';
import { switchOf } from '../resources/adapters.ts';
import type { Problem } from '../status/problem.ts';

/** What its pods could use alone: an adapter has none. The rest of the template is for the Job that downloads it. */
const USED_BY_JOB = ['serviceAccountName', 'imagePullSecrets'];

/** Those that were downloaded. `candidates`: all adapters that name the base. */
export function listServed(
  base: ModelDeployment,
  candidates: readonly ModelDeployment[],
): readonly ModelDeployment[] {
  if (candidates.length === 0 || findBaseProblem(base).length > 0) return [];
  const refusals = findRefusals(base, candidates);
  return candidates.filter(({ metadata, status }) => status.adapter && !refusals.has(metadata.uid));
}

/** `candidates`: all adapters that name the base, this one among them. */
export function findAdapterProblems(
  adapter: ModelDeployment,
  base: ModelDeployment | undefined,
  candidates: readonly ModelDeployment[],
): Problem[] {
  const { template, adapterOf } = adapter.spec;
  if (!base)
    return [
      {
        reason: 'BaseNotFound',
        message: `spec.adapterOf: there is no ModelDeployment ${adapterOf!.deployment} that is valid`,
      },
    ];
  const baseProblems = findBaseProblem(base);
  const refusal =
    baseProblems.length > 0 ? undefined : findRefusals(base, candidates).get(adapter.metadata.uid);
  const unused = Object.keys(template).filter((field) => !USED_BY_JOB.includes(field));
  const message = `spec.template: an adapter has no pods of its own: ${unused.join(', ')} would not be used`;
  return [
    ...baseProblems,
    ...(unused.length > 0 ? [{ reason: 'NoPods', message }] : []),
    ...(refusal ? [refusal] : []),
  ];
}

/** By uid, why an adapter cannot be beside those that were downloaded or created before it. */
function findRefusals(
  base: ModelDeployment,
  candidates: readonly ModelDeployment[],
): ReadonlyMap<string, Problem> {
  const { name: baseName } = base.metadata;
  const { port, adapters } = base.spec.engine;
  const owners = new Map([[port, `the engine of ${baseName}`]]);
  const refusals = new Map<string, Problem>();
  let count = 0;
  const isReady = ({ status }: ModelDeployment) => Number(status.adapter !== undefined);
  const ageOf = ({ metadata }: ModelDeployment) => toMillis(metadata.creationTimestamp);
  const ranked = [...candidates].sort(
    (a, b) => isReady(b) - isReady(a) || ageOf(a) - ageOf(b) || (a.metadata.uid < b.metadata.uid ? -1 : 1),
  );
  for (const { metadata } of ranked) {
    const own = adapterPort(metadata.name);
    const owner = owners.get(own);
    if (owner !== undefined)
      refusals.set(metadata.uid, {
        reason: 'PortTaken',
        message: `port ${own}, which follows from the name, is used by ${owner}: use another name`,
      });
    else if (count === adapters!.max)
      refusals.set(metadata.uid, {
        reason: 'TooManyAdapters',
        message: `${baseName} serves ${count} adapters already: raise its spec.engine.adapters.max, which restarts its pods`,
      });
    else {
      owners.set(own, metadata.name);
      count++;
    }
  }
  return refusals;
}

/** `--no-enable-lora` and `--no_enable_lora`. */
const IS_SWITCHED_OFF = /^--no[-_]enable[-_]lora$/;
const IS_ON = /^(1|true)$/i;

function findBaseProblem({ metadata: { name }, spec }: ModelDeployment): Problem[] {
  const { engine, scaling } = spec;
  const refuse = (message: string): Problem[] => [
    { reason: 'BaseNotSupported', message: `spec.adapterOf: ${name} ${message}` },
  ];
  if (spec.adapterOf) return refuse('is an adapter, too');
  if (!engine.adapters)
    return refuse('takes no adapters: set its spec.engine.adapters, which needs preset vllm');
  if (spec.kind !== 'LLM') return refuse(`serves ${spec.kind}: adapters need an LLM`);
  if (engine.args.some((arg) => IS_SWITCHED_OFF.test(arg)))
    return refuse('turns adapters off: remove --no-enable-lora from its spec.engine.args');
  const given = engine.env.find((variable) => variable.name === switchOf(engine));
  if (given && !IS_ON.test(String(given.value)))
    return refuse(`loads no adapters while it runs: remove ${switchOf(engine)} from its spec.engine.env`);
  if (spec.replicas === 0) return refuse('has no replicas: set its spec.replicas to 1 or more');
  if (scaling && (scaling.min === 0 || scaling.schedules.some(({ min }) => min === 0)))
    return refuse(
      'may scale to zero replicas, and requests for an adapter cannot wake it: set min in its spec.scaling, and in each of the schedules there, to 1 or more',
    );
  if (scaling?.idle === 'Sleep')
    return refuse('may sleep while idle, when it refuses requests for adapters: remove scaling.idle');
  return [];
}
