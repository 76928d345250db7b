/** How engines handle the `priority` of a request (decision 0154). */
import type { ModelDeploymentSpec } from './model-deployment.ts';

export const ENGINE_PRIORITIES = ['lower-first', 'higher-first'] as const;
/** Which numbers come first. */
export type EnginePriority = (typeof ENGINE_PRIORITIES)[number];

const ORDERS: Partial<Record<ModelDeploymentSpec['engine']['preset'], EnginePriority>> = {
  vllm: 'lower-first',
  sglang: 'higher-first',
};
/** Flags of these two engines with which a spec overrides the presets' arguments. */
const FLAG = /^--(no-)?(scheduling-policy|schedule-policy|schedule-low-priority|enable-priority-scheduling)/;

/** Undefined for an engine without priorities, or with the spec's own command. */
export function enginePriorityOf({ kind, engine }: ModelDeploymentSpec): EnginePriority | undefined {
  const isChanged =
    engine.command !== undefined || engine.args.some((arg) => FLAG.test(arg.replaceAll('_', '-')));
  return kind === 'LLM' && !isChanged ? ORDERS[engine.preset] : undefined;
}
