/** Which tools a response calls, by a predictable rule. */
import { refuse, refuseField } from './errors.ts';
import { type Fields, isObject, readList } from './fields.ts';
import { generateValue } from './json-schema.ts';
import type { Conversation } from './messages.ts';
import type { Random } from './random.ts';

interface Tool {
  name: string;
  parameters: unknown;
  isStrict: boolean;
}

export interface ToolPlan {
  tools: Tool[];
  /** The model had no choice. */
  isForced: boolean;
  promptText: string;
}

export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

/** Words of a tool's name that say nothing about its subject. */
const COMMON_WORDS = new Set(
  'get set fetch list find search create make look lookup up do run call the of by for in to current tool'.split(
    ' ',
  ),
);

/**
 * The tools to call: those that the user's latest text mentions (`auto`), at least one (`required`), the
 * named one. With `auto`, a tool's result is answered in words.
 */
export function planTools(body: Fields, conversation: Conversation): ToolPlan {
  const tools = readTools(body);
  const promptText = tools.length === 0 ? '' : JSON.stringify(body.tools);
  const choice = body.tool_choice ?? 'auto';
  const plan = (called: Tool[]): ToolPlan => ({
    tools: body.parallel_tool_calls === false ? called.slice(0, 1) : called,
    isForced: choice !== 'auto',
    promptText,
  });
  const mentioned = tools.filter(({ name }) => mentionsTool(conversation.lastUserText, name));
  if (choice === 'none') return plan([]);
  if (choice === 'auto') return plan(conversation.lastRole === 'tool' ? [] : mentioned);
  if (tools.length === 0)
    throw refuse(
      'When using `tool_choice`, `tools` must be set, and have a tool that the model can call.',
      'tool_choice',
    );
  if (choice === 'required') return plan(mentioned.length > 0 ? mentioned : tools.slice(0, 1));
  const wanted = isObject(choice) && isObject(choice.function) ? choice.function.name : undefined;
  const named = tools.find(({ name }) => name === wanted);
  if (!named)
    throw refuse(
      'The tool specified in `tool_choice` does not match any of the specified `tools`',
      'tool_choice',
    );
  return plan([named]);
}

function readTools(body: Fields): Tool[] {
  return (readList(body, 'tools') ?? []).map((tool, index) => {
    if (!isObject(tool)) throw refuseField(['tools', index], 'Input should be a valid dictionary');
    if (tool.type !== undefined && tool.type !== 'function')
      throw refuseField(['tools', index, 'type'], "Input should be 'function'");
    if (!isObject(tool.function) || typeof tool.function.name !== 'string')
      throw refuseField(['tools', index, 'function', 'name'], 'Field required');
    const { name, parameters, strict } = tool.function;
    return { name, parameters: parameters ?? { type: 'object' }, isStrict: strict === true };
  });
}

function mentionsTool(text: string, name: string): boolean {
  const said = text.toLowerCase();
  if (name !== '' && said.includes(name.toLowerCase())) return true;
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !COMMON_WORDS.has(word));
  const spoken = new Set(said.split(/[^\p{L}\p{N}]+/u));
  return words.length > 0 && words.every((word) => spoken.has(word));
}

/** Seen of vLLM 0.32, whose forced calls hold only the schemas of strict tools. */
const LOOSE_ARGUMENTS = 'false';

/** A call of each tool. Its arguments satisfy the tool's schema, unless `isLoose` lets forced ones break it. */
export const makeToolCalls = (
  { tools, isForced }: ToolPlan,
  { random, isLoose }: { random: Random; isLoose: boolean },
): ToolCall[] =>
  tools.map((tool) => ({
    id: `call_${Math.floor(random() * 2 ** 48)
      .toString(16)
      .padStart(12, '0')}`,
    name: tool.name,
    arguments:
      isLoose && isForced && !tool.isStrict
        ? LOOSE_ARGUMENTS
        : JSON.stringify(generateValue(tool.parameters, random)),
  }));
