/** An engine that ended because a parser of its model's family does not fit the model: if the family was guessed, it starts without. */
import type { V1Pod, V1PodTemplateSpec } from '@kubernetes/client-node';
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
  const args = pod?.containers.find(({ name }) => name === CONTAINERS.engine)?.args ?? [];
  const flags = PARSERS.map((flag) => `--${flag} ${readArgument(args, flag)}`);
  return pods
    .flatMap(listLastWords)
    .some((words) => words.includes(WORDS) && flags.some((flag) => words.includes(flag)));
}

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
