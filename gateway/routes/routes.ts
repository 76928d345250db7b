/** All routes of an endpoint (contract: Endpoints). */
import { type Route, RouteTable } from './route-table.ts';

const text = { method: 'POST', isCounted: true } as const;
const models = { method: 'GET', kinds: null, isCounted: false } as const;
const media = { method: 'POST', isCounted: false } as const;

const ALL = [
  { ...text, name: 'chat_completions', path: '/v1/chat/completions', kinds: ['LLM'] },
  { ...text, name: 'completions', path: '/v1/completions', kinds: ['LLM'] },
  { ...text, name: 'embeddings', path: '/v1/embeddings', kinds: ['Embedding'] },
  { ...models, name: 'models', path: '/v1/models' },
  { ...models, name: 'model', path: '/v1/models/{id}' },
  { ...media, name: 'image_generations', path: '/v1/images/generations', kinds: ['Image'] },
  { ...media, name: 'image_edits', path: '/v1/images/edits', kinds: ['Image'] },
  { ...media, name: 'videos', path: '/v1/videos', kinds: ['Video'] },
  { ...media, name: 'video_generations', path: '/v1/videos/generations', kinds: ['Video'] },
] as const satisfies readonly Route[];

export type RouteName = (typeof ALL)[number]['name'];

export const ROUTES = new RouteTable(ALL);
