/** Which chats continue when their engine dies mid-stream, and what the next engine is asked (decision 0215). */
import { traitsOf } from '../../api/engine-traits.ts';
import { isObject, type JSONObject } from '../../kit/json.ts';
import { getMember, setMembers } from './request-body.ts';

/** A request whose response can be continued. */
export interface Continuable {
  /** Token limits that the client set, by their names. */
  limits: Readonly<Record<string, number>>;
  /** The one that the engine applies; Infinity if the client set none. */
  most: number;
  /** Stop strings, which may span the seam. */
  stops: readonly string[];
  /** Whether the stop string is part of the output. */
  withStop: boolean;
}

/** What was generated before the engine died. */
export interface GeneratedSoFar {
  /** Without trailing white space, which many templates strip. */
  content: string;
  reasoning: string;
  tokens: number;
}

/**
 * Members with the same meaning to an engine that continues mid-response. Others may not have: a schema, a
 * grammar, tools and choices apply to a response as a whole.
 */
const PLAIN = new Set([
  'messages',
  'model',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'max_tokens',
  'max_completion_tokens',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'stop',
  'stop_token_ids',
  'include_stop_str_in_output',
  'ignore_eos',
  'seed',
  'logit_bias',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'metadata',
  'service_tier',
  'priority',
  'reasoning_effort',
  'chat_template_kwargs',
  'parallel_tool_calls',
]);

/** Further members, with the values that have no effect. */
const NEUTRAL: Readonly<Record<string, (value: unknown) => boolean>> = {
  n: (value) => value === 1,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  store: (value) => value === false,
  tools: (value) => Array.isArray(value) && value.length === 0,
  tool_choice: (value) => value === 'none',
  response_format: (value) => isObject(value) && value.type === 'text',
  modalities: (value) => Array.isArray(value) && value.every((each) => each === 'text'),
  stream_options: (value) => isObject(value) && Object.keys(value).every((name) => name === 'include_usage'),
};

/** Each is searched for in the text around the seam. */
const MAX_STOPS = 64;
const MAX_STOP_CHARACTERS = 1_024;

/** Null for a chat that is not plain: its broken stream ends with an error. `body` is validated. */
export function readContinuable(body: JSONObject, preset: string): Continuable | null {
  if (body.stream !== true) return null;
  for (const [name, value] of Object.entries(body))
    if (value !== null && !PLAIN.has(name) && !(Object.hasOwn(NEUTRAL, name) && NEUTRAL[name]!(value)))
      return null;
  // The client itself continues a response.
  if ((body.messages as JSONObject[]).at(-1)?.role === 'assistant') return null;
  const stops = [body.stop ?? []].flat().filter((stop) => stop !== '') as string[];
  if (stops.length > MAX_STOPS || stops.some(({ length }) => length > MAX_STOP_CHARACTERS)) return null;
  const limits: Record<string, number> = Object.fromEntries(
    ['max_tokens', 'max_completion_tokens'].flatMap((name) =>
      typeof body[name] === 'number' ? [[name, body[name]]] : [],
    ),
  );
  return {
    limits,
    most: decideMost(limits, preset),
    stops,
    withStop: body.include_stop_str_in_output === true,
  };
}

/** If both are set, vLLM uses the newer name; of others the larger limit, so that no response is cut short here. */
function decideMost(limits: Readonly<Record<string, number>>, preset: string): number {
  const newer = traitsOf(preset).prefersNewerLimit ? limits.max_completion_tokens : undefined;
  const given = Object.values(limits);
  return newer ?? (given.length === 0 ? Infinity : Math.max(...given));
}

/** Margin for tokens that no engine reported. */
const ESTIMATE_MARGIN = 1.25;

/** Whether the response has all tokens that the client requested: if in doubt, the engine decides after one more. */
export const isUsedUp = ({ most }: Continuable, generatedTokens: number, isEstimate: boolean): boolean =>
  generatedTokens >= (isEstimate ? most * ESTIMATE_MARGIN : most);

/** The request that continues the interrupted response; the same again if nothing was generated. `payload`: what the first engine was sent. */
export function writeContinuation(
  payload: Buffer,
  { limits }: Continuable,
  generated: GeneratedSoFar,
): Buffer {
  const text = payload.toString('utf8');
  const changes = new Map<string, string>();
  for (const [name, limit] of Object.entries(limits))
    changes.set(name, String(Math.max(1, limit - generated.tokens)));
  if (generated.content !== '') {
    const { content, reasoning } = generated;
    // Templates read either name.
    const thought = reasoning !== '' && { reasoning, reasoning_content: reasoning };
    const message = JSON.stringify({ role: 'assistant', content, ...thought });
    const list = getMember(text, 'messages')!;
    changes.set('messages', `${list.slice(0, list.lastIndexOf(']'))},${message}]`);
    changes.set('continue_final_message', 'true');
    changes.set('add_generation_prompt', 'false');
  }
  return Buffer.from(setMembers(text, changes));
}
