/** The engine in a deployment's status. */
import { basename } from 'node:path';
import type { V1PodTemplateSpec } from '@kubernetes/client-node';
import type { ModelDeploymentSpec, ModelDeploymentStatus } from '../../api/model-deployment.ts';
import { CONTAINERS } from '../../api/names.ts';
import { readArgument } from '../engines/arguments.ts';
import { decideFamily } from '../engines/model-families.ts';

const TEMPLATE_FILE = /^[\w./-]{1,200}$/;

const NO_PARSER = 'no tool-call parser known for this model: set engine.family';

/** Without one vLLM refuses `tools` with `tool_choice: auto`; `none` in the spec requests that. */
const needsParser = ({ kind, engine: { preset, family, command } }: ModelDeploymentSpec): boolean =>
  kind === 'LLM' && preset === 'vllm' && family === undefined && command === undefined;

/** From the arguments of the template, which may be those of an earlier version. Undefined if there is nothing to report. */
export function describeEngine(
  spec: ModelDeploymentSpec,
  { spec: pod }: V1PodTemplateSpec,
): ModelDeploymentStatus['engine'] {
  const args = pod?.containers.find(({ name }) => name === CONTAINERS.engine)?.args ?? [];
  const family = decideFamily(spec);
  const toolCallParser = readArgument(args, 'tool-call-parser');
  const reasoningParser = readArgument(args, 'reasoning-parser');
  const chatTemplate = readArgument(args, 'chat-template');
  const message = !toolCallParser && needsParser(spec) ? NO_PARSER : undefined;
  const engine = {
    ...(family !== 'none' && { family }),
    ...(toolCallParser && { toolCallParser }),
    ...(reasoningParser && { reasoningParser }),
    // It may also be the template itself.
    ...(chatTemplate && TEMPLATE_FILE.test(chatTemplate) && { chatTemplate: basename(chatTemplate) }),
    ...(message && { message }),
  };
  return Object.keys(engine).length === 0 ? undefined : engine;
}
