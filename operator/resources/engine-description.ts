/** The engine in a deployment's status. */
import { basename } from 'node:path';
import type { ModelDeploymentSpec, ModelDeploymentStatus } from '../../api/model-deployment.ts';
import type { ModelFamily } from '../../api/model-families.ts';
import { CONTAINERS } from '../../api/names.ts';
import { readArgument } from '../engines/arguments.ts';
import { decideFamily } from '../engines/model-families.ts';
import type { PinnedTemplate } from './template-pin.ts';

const TEMPLATE_FILE = /^[\w./-]{1,200}$/;

const NO_PARSER = 'no tool-call parser known for this model: set engine.family';

const describeRefusal = (family: ModelFamily): string =>
  `the parsers of family ${family}, guessed by the model's name, do not fit its tokenizer: tool calls and reasoning are not read; set engine.family`;

/** Without one vLLM refuses `tools` with `tool_choice: auto`; `none` in the spec requests that. */
const needsParser = ({ kind, engine: { preset, family, command } }: ModelDeploymentSpec): boolean =>
  kind === 'LLM' && preset === 'vllm' && family === undefined && command === undefined;

/** From the arguments of the template, which may be those of an earlier version. Undefined if there is nothing to report. */
export function describeEngine(
  spec: ModelDeploymentSpec,
  { template: { spec: pod }, isWithoutParsers }: Pick<PinnedTemplate, 'template' | 'isWithoutParsers'>,
): ModelDeploymentStatus['engine'] {
  const args = pod?.containers.find(({ name }) => name === CONTAINERS.engine)?.args ?? [];
  const family = decideFamily(spec);
  const toolCallParser = readArgument(args, 'tool-call-parser');
  const reasoningParser = readArgument(args, 'reasoning-parser');
  const chatTemplate = readArgument(args, 'chat-template');
  const message = isWithoutParsers
    ? describeRefusal(family)
    : !toolCallParser && needsParser(spec)
      ? NO_PARSER
      : undefined;
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
