/** An engine that ended because a parser of its model's family does not fit the model: if the family was guessed, it starts without. */
import { isDeepStrictEqual } from 'node:util';
import type { V1Container, V1Pod, V1PodTemplateSpec } from '@kubernetes/client-node';
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { CONTAINERS } from '../../api/names.ts';
import { readArgument } from '../engines/arguments.ts';
import { decideFamily } from '../engines/model-families.ts';

/** vLLM 0.32 and later ends with these words where a parser needs a token that the tokenizer lacks. */
const WORDS = 'cannot be used with the tokenizer of';
const PARSERS = ['tool-call-parser', 'reasoning-parser'];

/** Whether an engine with the parsers of the template ended so, and nobody asked for these. */
export function hasRefusedParsers(
  spec: ModelDeploymentSpec,
  { spec: pod }: V1PodTemplateSpec,
  pods: readonly V1Pod[],
): boolean {
  if (spec.engine.family !== undefined || decideFamily(spec) === 'none') return false;
  const engine = findEngine(pod?.containers);
  const guessed = PARSERS.filter((flag) => readArgument(spec.engine.args, flag) === undefined);
  const flags = guessed.map((flag) => `--${flag} ${readArgument(engine?.args ?? [], flag)}`);
  // A pod of an earlier spec may stay until one of this spec is ready.
  return pods
    .filter((each) => isSameEngine(findEngine(each.spec?.containers), engine))
    .flatMap(listLastWords)
    .some((words) => words.includes(WORDS) && flags.some((flag) => words.includes(flag)));
}

const findEngine = (containers: readonly V1Container[] | undefined): V1Container | undefined =>
  containers?.find(({ name }) => name === CONTAINERS.engine);

const isSameEngine = (one: V1Container | undefined, other: V1Container | undefined): boolean =>
  isDeepStrictEqual([one?.image, one?.args], [other?.image, other?.args]);

/** Tails of the logs of its engine's last ends. */
function listLastWords({ status }: V1Pod): string[] {
  const engine = status?.containerStatuses?.find(({ name }) => name === CONTAINERS.engine);
  return [engine?.state, engine?.lastState].flatMap((state) => state?.terminated?.message ?? []);
}

/** The spec whose engine starts without parsers. */
export const withoutParsers = <T extends { spec: ModelDeploymentSpec }>(model: T): T => ({
  ...model,
  spec: { ...model.spec, engine: { ...model.spec.engine, family: 'none' } },
});
