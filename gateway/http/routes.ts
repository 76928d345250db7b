/** All routes of an endpoint (docs/api.md). */
import { type Route, RouteTable } from './route-table.ts';

/** Exactly where the engine serves them, too. */
const text = { method: 'POST', isEngines: true, isCounted: true, served: 'ready' } as const;
const tokens = { ...text, kinds: ['LLM', 'Embedding', 'Rerank'], spendsNothing: true } as const;
const models = { method: 'GET', kinds: null, isCounted: false, served: 'ready' } as const;
const media = { method: 'POST', isCounted: false, served: 'accepting' } as const;
/** A workspace's requests can be looked after at any of its endpoints. */
const records = { kinds: null, namedTo: ['Image', 'Video'], isCounted: false, served: 'always' } as const;
const videos = { ...records, namedTo: ['Video'] } as const;
/** Of OpenAI's API, known so that errors name an alternative. */
const unsupported = { method: 'POST', namedTo: [], isCounted: false, served: 'always' } as const;

export const ALL_ROUTES = [
  { ...text, name: 'chat_completions', path: '/v1/chat/completions', kinds: ['LLM'] },
  { ...text, name: 'completions', path: '/v1/completions', kinds: ['LLM'] },
  { ...text, name: 'responses', path: '/v1/responses', kinds: ['LLM'] },
  { ...text, name: 'messages', path: '/v1/messages', kinds: ['LLM'] },
  { ...text, name: 'count_tokens', path: '/v1/messages/count_tokens', kinds: ['LLM'], spendsNothing: true },
  { ...text, name: 'embeddings', path: '/v1/embeddings', kinds: ['Embedding'] },
  { ...text, name: 'rerank', path: '/v1/rerank', kinds: ['Rerank'] },
  { ...text, name: 'score', path: '/v1/score', kinds: ['Rerank'] },
  { ...tokens, name: 'tokenize', path: '/tokenize' },
  { ...tokens, name: 'detokenize', path: '/detokenize' },
  { ...text, name: 'transcriptions', path: '/v1/audio/transcriptions', kinds: ['Transcription'] },
  { ...text, name: 'translations', path: '/v1/audio/translations', kinds: ['Transcription'] },
  { ...text, name: 'speech', path: '/v1/audio/speech', kinds: ['Speech'] },
  { ...models, name: 'models', path: '/v1/models' },
  { ...models, name: 'model', path: '/v1/models/{model}' },
  { ...media, name: 'image_generations', path: '/v1/images/generations', kinds: ['Image'] },
  { ...media, name: 'image_edits', path: '/v1/images/edits', kinds: ['Image'] },
  { ...media, name: 'videos', path: '/v1/videos', kinds: ['Video'] },
  { ...media, name: 'video_generations', path: '/v1/videos/generations', kinds: ['Video'] },
  { ...unsupported, name: 'image_variations', path: '/v1/images/variations', kinds: ['Image'] },
  { ...unsupported, name: 'video_remix', path: '/v1/videos/{id}/remix', kinds: ['Video'] },
  { ...videos, name: 'video_list', method: 'GET', path: '/v1/videos', kinds: ['Video'] },
  { ...videos, name: 'video_content', method: 'GET', path: '/v1/videos/{id}/content' },
  { ...videos, name: 'video', method: 'GET', path: '/v1/videos/{id}' },
  { ...videos, name: 'video_delete', method: 'DELETE', path: '/v1/videos/{id}' },
  { ...records, name: 'requests', method: 'GET', path: '/v1/requests' },
  { ...records, name: 'request_cancel', method: 'POST', path: '/v1/requests/{id}/cancel' },
  { ...records, name: 'request', method: 'GET', path: '/v1/requests/{id}' },
  { name: 'openapi', method: 'GET', path: '/openapi.json', kinds: null, isCounted: false, served: 'always' },
] as const satisfies readonly Route[];

export type RouteName = (typeof ALL_ROUTES)[number]['name'];

export const ROUTES = new RouteTable(ALL_ROUTES);
