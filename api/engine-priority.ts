/** How engines take the `priority` of a request. */
import type { ModelDeploymentSpec } from './model-deployment.ts';

export const ENGINE_PRIORITIES = ['lower-first', 'higher-first'] as const;
/** Which numbers come first. */
export type EnginePriority = (typeof ENGINE_PRIORITIES)[number];

const ORDERS: Partial<Record<ModelDeploymentSpec['engine']['preset'], EnginePriority>> = {
  vllm: 'lower-first',
  sglang: 'higher-first',
};
/** Flags of these two engines by which a spec changes what the presets' own arguments have them do. */
const FLAG = /^--(no-)?(scheduling-policy|schedule-policy|schedule-low-priority|enable-priority-scheduling)/;

/** Undefined for an engine that takes none, or that the spec starts in its own way. */
export function enginePriorityOf({ kind, engine }: ModelDeploymentSpec): EnginePriority | undefined {
  const isChanged =
    engine.command !== undefined || engine.args.some((arg) => FLAG.test(arg.replaceAll('_', '-')));
  return kind === 'LLM' && !isChanged ? ORDERS[engine.preset] : undefined;
}
