/** What an engine and the gateway before it answer to the same request, in a form in which the two can be compared. */

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
  /** Of a stream: its frames put together, as a whole answer would have it. */
  body: Fields;
  /** Of a stream: whether it ended with [DONE]. */
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

/** Text that is no JSON is an answer, too, though no good one. */
function parse(text: string): Fields {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}

/** These go on from frame to frame; of others the last one holds. */
const CONTINUED = new Set(['content', 'reasoning', 'reasoning_content', 'arguments', 'text']);

/** How many tokens a frame has depends on how busy the engine is: only all together are the same each time. */
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

/** They differ from one call to the next: names and times of the call, and what the engine still knew of the one before. */
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

/** An answer without what is each call's own. A field that an engine leaves out is null in the endpoint's answers. */
export function strip(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strip);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(addCached(value as Fields))
      .filter(([key, item]) => item !== null && !OWN.has(key))
      .map(([key, item]) => [key, strip(item)]),
  );
}

/** Of the endpoint's answer, what the engine's has: it adds what schemas require and an engine leaves out. */
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

/** The input of messages is what was not in the engine's cache. */
const addCached = (value: Fields): Fields =>
  'cache_read_input_tokens' in value
    ? { ...value, input_tokens: INPUT.reduce((sum, name) => sum + Number(value[name] ?? 0), 0) }
    : value;

const INPUT = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];
