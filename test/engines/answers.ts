/** Responses of an engine and of its gateway to the same request, in a comparable form. */

/** Where a request goes. */
export interface Target {
  /** With `/v1`. */
  baseURL: string;
  model: string;
  key?: string;
}

export type Fields = Record<string, unknown>;

export interface Answer {
  status: number;
  /** A stream's frames combined, as in a response without streaming. */
  body: Fields;
  /** Whether a stream ended with [DONE]. */
  isWhole?: boolean;
}

export function send(target: Target, path: string, body: Fields, signal?: AbortSignal): Promise<Response> {
  return fetch(`${target.baseURL}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(target.key ? { authorization: `Bearer ${target.key}` } : {}),
    },
    body: JSON.stringify({ model: target.model, ...body }),
    signal: signal ?? null,
  });
}

export async function ask(target: Target, path: string, body: Fields): Promise<Answer> {
  const response = await send(target, path, body);
  const text = await response.text();
  if (!body.stream || response.status !== 200) return { status: response.status, body: parse(text) };
  const frames = readFrames(text);
  return {
    status: response.status,
    body: assemble(frames.filter((frame) => frame !== DONE).map(parse)),
    isWhole: frames.at(-1) === DONE,
  };
}

const DONE = '[DONE]';
const DATA = 'data: ';

export const readFrames = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith(DATA))
    .map((line) => line.slice(DATA.length));

/** Keeps text that is not JSON as well. */
function parse(text: string): Fields {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}

/** Concatenated from frame to frame; of other fields the last value counts. */
const CONTINUED = new Set(['content', 'reasoning', 'reasoning_content', 'arguments', 'text']);

/** The number of tokens per frame depends on the load of the engine: only the whole is reproducible. */
export const assemble = (frames: readonly Fields[]): Fields =>
  frames.reduce((whole, frame) => join(whole, frame) as Fields, {});

function join(before: unknown, after: unknown, name = ''): unknown {
  if (after === null || after === undefined) return before ?? after;
  if (typeof after === 'string' && typeof before === 'string' && CONTINUED.has(name)) return before + after;
  if (Array.isArray(after)) return joinLists(Array.isArray(before) ? before : [], after);
  if (typeof after !== 'object') return after;
  const whole: Fields = { ...(before as Fields | null) };
  for (const [key, value] of Object.entries(after)) whole[key] = join(whole[key], value, key);
  return whole;
}

/** Choices and tool calls have an index; token lists grow. */
function joinLists(before: unknown[], after: unknown[]): unknown[] {
  const whole = [...before];
  for (const item of after) {
    const index = (item as Fields | null)?.index;
    const place = typeof index === 'number' ? whole.findIndex((one) => (one as Fields).index === index) : -1;
    if (place < 0) whole.push(item);
    else whole[place] = join(whole[place], item);
  }
  return whole.sort((a, b) => Number((a as Fields)?.index ?? 0) - Number((b as Fields)?.index ?? 0));
}

/** Fields that differ between calls: ids, times, and effects of the engine's cache. */
const OWN = new Set([
  'id',
  'item_id',
  'call_id',
  'created',
  'created_at',
  'completed_at',
  'sequence_number',
  'system_fingerprint',
  'timings',
  'store',
  'prompt_tokens_details',
  'input_tokens_details',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
]);

/** A response without fields that differ between calls. Fields that an engine omits are null in the endpoint's responses. */
export function strip(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strip);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(addCached(value as Fields))
      .filter(([key, item]) => item !== null && !OWN.has(key))
      .map(([key, item]) => [key, strip(item)]),
  );
}

/** The part of the endpoint's response that the engine's has: the endpoint adds fields that schemas require and engines omit. */
export function narrow(answer: unknown, engine: unknown): unknown {
  if (Array.isArray(answer) && Array.isArray(engine))
    return answer.map((item, index) => (index < engine.length ? narrow(item, engine[index]) : item));
  if (!isFields(answer) || !isFields(engine)) return answer;
  return Object.fromEntries(
    Object.entries(answer)
      .filter(([key]) => key in engine)
      .map(([key, item]) => [key, narrow(item, engine[key])]),
  );
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** For messages, the engine reports only input tokens that were not cached. */
const addCached = (value: Fields): Fields =>
  'cache_read_input_tokens' in value
    ? { ...value, input_tokens: INPUT.reduce((sum, name) => sum + Number(value[name] ?? 0), 0) }
    : value;

const INPUT = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];
