/** Tools of POST /v1/responses as functions of a chat, and calls of them as items, as vLLM has them. */
import { refuse, refuseField } from './errors.ts';
import { type Fields, isObject } from './fields.ts';
import type { ToolCall } from './tools.ts';

/** The one parameter of the function that stands for a custom tool. */
const INPUT = 'input';
const FREE_TEXT = { type: 'object', properties: { [INPUT]: { type: 'string' } }, required: [INPUT] };

interface ResponseTool {
  function: Fields;
  /** What the item of its call has besides its arguments. */
  item: Fields & { type: 'function_call' | 'custom_tool_call' };
}

/** The model is never shown other types of tools. */
export function listTools(tools: unknown): ResponseTool[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool, index): ResponseTool[] => {
    if (!isObject(tool)) throw refuseField(['tools', index], 'Input should be a valid dictionary');
    const { type, name } = tool;
    if (type === 'function') return [{ function: tool, item: { type: 'function_call', name } }];
    if (type === 'namespace') return listNamespace(tool);
    if (type !== 'custom') return [];
    if (isObject(tool.format) && tool.format.type === 'grammar')
      throw refuse(
        'Custom tools with a grammar format are not supported; only free-form text custom tools are accepted.',
        'tools',
      );
    return [
      { function: { name, parameters: FREE_TEXT, strict: true }, item: { type: 'custom_tool_call', name } },
    ];
  });
}

const listNamespace = ({ name: namespace, tools }: Fields): ResponseTool[] =>
  (Array.isArray(tools) ? tools : [])
    .filter((tool) => isObject(tool) && tool.type === 'function')
    .map((tool) => ({
      function: { ...tool, name: `${namespace}__${tool.name}` },
      item: { type: 'function_call', name: tool.name, namespace },
    }));

/** Choices name a tool of any type. */
export const readToolChoice = (choice: unknown): unknown =>
  isObject(choice) ? { type: 'function', function: { name: choice.name } } : choice;

export function describeCall(call: ToolCall, tools: ResponseTool[]): Fields {
  const { item } = tools.find((tool) => tool.function.name === call.name)!;
  const id = call.id.slice('call_'.length);
  return item.type === 'custom_tool_call'
    ? { id: `ctc_${id}`, ...item, call_id: call.id, input: JSON.parse(call.arguments)[INPUT] }
    : { id: `fc_${id}`, ...item, status: 'completed', call_id: call.id, arguments: call.arguments };
}
