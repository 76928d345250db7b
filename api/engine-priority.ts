/** How engines handle the `priority` of a request (decision 0154). */
import { ENGINE_TRAITS, type EnginePriority } from './engine-traits.ts';
import type { ModelDeploymentSpec } from './model-deployment.ts';

/** Flags of vLLM and SGLang with which a spec overrides the presets' arguments. */
const FLAG = /^--(no-)?(scheduling-policy|schedule-policy|schedule-low-priority|enable-priority-scheduling)/;

/** Undefined for an engine without priorities, or with the spec's own command. */
export function enginePriorityOf({ kind, engine }: ModelDeploymentSpec): EnginePriority | undefined {
  const isChanged =
    engine.command !== undefined || engine.args.some((arg) => FLAG.test(arg.replaceAll('_', '-')));
  return (kind === 'LLM' && !isChanged && ENGINE_TRAITS[engine.preset].priority) || undefined;
}
