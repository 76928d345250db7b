/** A fetch for SDKs that validates every response and every stream chunk before the SDK reads it. */
import { findViolations, type WireType } from './wire-schema.ts';

interface Route {
  path: RegExp;
  /** Any if absent. */
  method?: string;
  /** Type of the whole response. */
  whole: WireType;
  /** Type of each event of a stream. */
  event?: WireType;
  /** Type of a 202, if it differs. */
  accepted?: WireType;
}

const ROUTES: Route[] = [
  { path: /\/chat\/completions$/, whole: 'ChatCompletion', event: 'ChatCompletionChunk' },
  { path: /\/completions$/, whole: 'Completion', event: 'CompletionChunk' },
  { path: /\/responses$/, whole: 'Response', event: 'ResponseStreamEvent' },
  { path: /\/responses\/input_tokens$/, whole: 'InputTokenCountResponse' },
  { path: /\/messages$/, whole: 'Message', event: 'MessageEvent' },
  { path: /\/messages\/count_tokens$/, whole: 'MessageTokensCount' },
  { path: /\/embeddings$/, whole: 'CreateEmbeddingResponse' },
  {
    path: /\/images\/generations$/,
    whole: 'ImagesResponse',
    event: 'ImageGenCompletedEvent',
    accepted: 'Acknowledgement',
  },
  {
    path: /\/images\/edits$/,
    whole: 'ImagesResponse',
    event: 'ImageEditCompletedEvent',
    accepted: 'Acknowledgement',
  },
  { path: /\/videos\/generations$/, whole: 'Acknowledgement' },
  { path: /\/videos$/, method: 'GET', whole: 'VideoList' },
  { path: /\/videos(\/req_[0-9a-f]+)?$/, whole: 'Video' },
  { path: /\/requests$/, whole: 'RequestList' },
  { path: /\/requests\/req_[0-9a-f]+(\/cancel)?$/, whole: 'InferenceRequest' },
];
const NO_CONTENT = 204;
const ACCEPTED = 202;

export interface CheckedFetch {
  fetch: typeof fetch;
  violations: string[];
  /** Number of validated bodies and chunks. */
  checked: number;
}

/** Collects violations instead of throwing, since SDKs retry on a fetch that fails. */
export function createCheckedFetch(): CheckedFetch {
  const result: CheckedFetch = { fetch: checkedFetch, violations: [], checked: 0 };
  return result;

  async function checkedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const response = await fetch(input, init);
    const path = new URL(input instanceof Request ? input.url : input).pathname;
    const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase();
    const route = ROUTES.find((each) => each.path.test(path) && (each.method ?? method) === method);
    if (!response.ok || response.status === NO_CONTENT || route === undefined) return response;
    const whole = (response.status === ACCEPTED && route.accepted) || route.whole;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    const text = await response.clone().text();
    if (isStream) for (const data of listData(text)) checkEvent(route.event!, data);
    else check(whole, text);
    return response;
  }

  /** An error event is the envelope, not a chunk. */
  function checkEvent(type: WireType, data: string): void {
    if (!('error' in JSON.parse(data))) check(type, data);
  }

  function check(type: WireType, text: string): void {
    result.checked++;
    result.violations.push(...findViolations(type, allowBase64(JSON.parse(text))));
  }
}

const listData = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    .map((line) => line.slice('data: '.length));

/** The SDK declares embeddings as numbers, but requests and decodes base64. */
function allowBase64(body: { data?: { embedding?: unknown }[] }): unknown {
  if (!Array.isArray(body.data)) return body;
  const data = body.data.map((item) =>
    typeof item.embedding === 'string' ? { ...item, embedding: [0] } : item,
  );
  return { ...body, data };
}
