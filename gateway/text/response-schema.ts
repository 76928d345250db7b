/**
 * Fills what OpenAI's types and Open Responses' stricter schema require and engines omit: vLLM sends null for
 * missing values and defaults, llama.cpp sends little more than its output. Request parameters are echoed (decision 0328).
 */
import { isObject, type JSONObject } from '../../kit/json.ts';
import { completeModel, dropNull, dropNulls, fillAbsent, listOf } from './answer-schema.ts';
import type { RequestEcho } from './request-echo.ts';

interface Member {
  name: string;
  /** Defaults if neither the engine nor the request sets a value. */
  fallback: unknown;
  isNullable?: true;
  /** Whether the request sets it. */
  isEchoed?: true;
}

const MEMBERS: readonly Member[] = [
  { name: 'error', fallback: null, isNullable: true },
  { name: 'incomplete_details', fallback: null, isNullable: true },
  { name: 'output', fallback: [] },
  { name: 'usage', fallback: null, isNullable: true },
  { name: 'instructions', fallback: null, isNullable: true, isEchoed: true },
  { name: 'metadata', fallback: {}, isEchoed: true },
  { name: 'tools', fallback: [], isEchoed: true },
  { name: 'tool_choice', fallback: 'auto', isEchoed: true },
  { name: 'parallel_tool_calls', fallback: true, isEchoed: true },
  { name: 'max_tool_calls', fallback: null, isNullable: true, isEchoed: true },
  { name: 'max_output_tokens', fallback: null, isNullable: true, isEchoed: true },
  { name: 'temperature', fallback: 1, isEchoed: true },
  { name: 'top_p', fallback: 1, isEchoed: true },
  { name: 'presence_penalty', fallback: 0, isEchoed: true },
  { name: 'frequency_penalty', fallback: 0, isEchoed: true },
  { name: 'top_logprobs', fallback: 0, isEchoed: true },
  { name: 'text', fallback: {}, isEchoed: true },
  { name: 'truncation', fallback: 'disabled', isEchoed: true },
  { name: 'reasoning', fallback: null, isNullable: true, isEchoed: true },
  { name: 'service_tier', fallback: 'default' },
  { name: 'background', fallback: false },
  // Responses are never stored, whatever the engine's default.
  { name: 'store', fallback: false },
  { name: 'previous_response_id', fallback: null, isNullable: true },
  { name: 'safety_identifier', fallback: null, isNullable: true, isEchoed: true },
  { name: 'prompt_cache_key', fallback: null, isNullable: true, isEchoed: true },
];

export const ECHOED_MEMBERS: ReadonlySet<string> = new Set(
  MEMBERS.filter(({ isEchoed }) => isEchoed).map(({ name }) => name),
);

export interface ResponseContext {
  modelId: string;
  echo: Pick<RequestEcho, 'read'>;
  /** In milliseconds. */
  now(): number;
}

/** Returns whether it changed anything. */
export function completeResponse(response: JSONObject, { modelId, echo, now }: ResponseContext): boolean {
  let isChanged = completeModel(response, modelId);
  isChanged = markCut(response, echo) || isChanged;
  isChanged = fillAbsent(response, 'object', 'response') || isChanged;
  // OpenAI omits it if there is none.
  isChanged = dropNull(response, 'user') || isChanged;
  for (const { name, fallback, isNullable, isEchoed } of MEMBERS) {
    const value = response[name];
    if (value !== undefined && (value !== null || isNullable)) continue;
    response[name] = (isEchoed ? echo.read(name) : null) ?? structuredClone(fallback);
    isChanged = true;
  }
  isChanged = completeTimes(response, now) || isChanged;
  isChanged = completeParts(response) || isChanged;
  return completeUsage(response.usage) || isChanged;
}

/** llama.cpp (build 11669) calls a response completed that `max_output_tokens` cut, and sends no details. */
function markCut(response: JSONObject, echo: ResponseContext['echo']): boolean {
  const { status, usage, incomplete_details: details } = response;
  if (status !== 'completed' || details !== undefined || !isObject(usage)) return false;
  const most = echo.read('max_output_tokens');
  if (typeof most !== 'number' || typeof usage.output_tokens !== 'number' || usage.output_tokens < most)
    return false;
  response.status = 'incomplete';
  response.incomplete_details = { reason: 'max_output_tokens' };
  response.completed_at = null;
  const last = listOf(response.output).at(-1);
  if (last?.status === 'completed') last.status = 'incomplete';
  return true;
}

function completeTimes(response: JSONObject, now: () => number): boolean {
  const seconds = Math.floor(now() / 1000);
  const isCompleted = response.status === 'completed';
  const isChanged = fillAbsent(response, 'created_at', seconds);
  return fillAbsent(response, 'completed_at', isCompleted ? seconds : null) || isChanged;
}

function completeParts({ text, tools, reasoning, output }: JSONObject): boolean {
  let isChanged = isObject(text) && fillEmpty(text, 'format', { type: 'text' });
  if (isObject(text) && isObject(text.format)) isChanged = dropNulls(text.format) || isChanged;
  for (const tool of listOf(tools)) isChanged = completeTool(tool) || isChanged;
  if (isObject(reasoning)) isChanged = fillAll(reasoning, ['effort', 'summary'], null) || isChanged;
  for (const item of listOf(output)) isChanged = completeItem(item) || isChanged;
  return isChanged;
}

/** Required, but may be null. */
const TOOL_MEMBERS = ['description', 'parameters', 'strict'];

function completeTool(tool: JSONObject): boolean {
  if (tool.type !== 'function') return false;
  const isChanged = dropNulls(tool, TOOL_MEMBERS);
  return fillAll(tool, TOOL_MEMBERS, null) || isChanged;
}

/** An item of the output, complete or as it starts. */
export function completeItem(item: JSONObject): boolean {
  let isChanged = false;
  if (item.type === 'reasoning') isChanged = fillEmpty(item, 'summary', []);
  // Older builds of llama.cpp omit these.
  if (item.type === 'function_call') {
    isChanged = fillEmpty(item, 'id', item.call_id);
    isChanged = dropNulls(item) || isChanged;
  }
  if (item.type === 'function_call' || item.type === 'message')
    isChanged = fillEmpty(item, 'status', 'completed') || isChanged;
  for (const part of listOf(item.content)) isChanged = completePart(part) || isChanged;
  return isChanged;
}

/** A part of an item's content, complete or as it starts. */
export function completePart(part: JSONObject): boolean {
  if (part.type !== 'output_text') return false;
  const isChanged = fillEmpty(part, 'annotations', []);
  return fillEmpty(part, 'logprobs', []) || isChanged;
}

function completeUsage(usage: unknown): boolean {
  if (!isObject(usage)) return false;
  let isChanged = fillEmpty(usage, 'input_tokens_details', {});
  isChanged = fillEmpty(usage, 'output_tokens_details', {}) || isChanged;
  const { input_tokens_details: input, output_tokens_details: output } = usage;
  if (isObject(input)) isChanged = fillEmpty(input, 'cached_tokens', 0) || isChanged;
  if (isObject(output)) isChanged = fillEmpty(output, 'reasoning_tokens', 0) || isChanged;
  return isChanged;
}

/** The same for members that may not be null. */
export function fillEmpty(object: JSONObject, name: string, value: unknown): boolean {
  if (object[name] !== undefined && object[name] !== null) return false;
  object[name] = value;
  return true;
}

function fillAll(object: JSONObject, names: readonly string[], value: unknown): boolean {
  let isChanged = false;
  for (const name of names) isChanged = fillAbsent(object, name, value) || isChanged;
  return isChanged;
}
