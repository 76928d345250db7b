/** All routes of an endpoint (docs/api.md): the table that routing, authentication and modality checks read. */

import { BATCH_KINDS } from '../../api/batch.ts';
import type { ModelKind } from '../../api/engine-presets.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';

/** Present only if the engine serves them. */
const text = { method: 'POST', isEngines: true, isCounted: true, served: 'ready' } as const;
const tokens = { ...text, kinds: ['LLM', 'Embedding', 'Rerank'], spendsNothing: true } as const;
const models = { method: 'GET', kinds: null, isCounted: false, served: 'ready' } as const;
const media = { method: 'POST', isCounted: false, served: 'accepting' } as const;
/** A workspace's requests can be managed at any of its endpoints. */
const records = { kinds: null, namedTo: ['Image', 'Video'], isCounted: false, served: 'always' } as const;
/** For signed-in users of the console; undocumented. */
const people = { ...records, namedTo: [] } as const;
const videos = { ...records, namedTo: ['Video'] } as const;
/** Deployments that run batches have them, whether a replica is ready or not. */
const batches = { kinds: BATCH_KINDS, isCounted: false, served: 'always' } as const;
const batchWork = { ...batches, method: 'POST', spendsLater: true } as const;
/** Needs no key. */
const everyone = { kinds: null, namedTo: [], isCounted: false, served: 'always' } as const;
/** Routes of OpenAI's API, listed so that errors can suggest an alternative. */
const unsupported = { method: 'POST', namedTo: [], isCounted: false, served: 'always' } as const;

export const ALL_ROUTES = [
  { ...text, name: 'chat_completions', path: '/v1/chat/completions', kinds: ['LLM'] },
  { ...text, name: 'completions', path: '/v1/completions', kinds: ['LLM'] },
  { ...text, name: 'responses', path: '/v1/responses', kinds: ['LLM'] },
  { ...text, name: 'input_tokens', path: '/v1/responses/input_tokens', kinds: ['LLM'], spendsNothing: true },
  { ...text, name: 'messages', path: '/v1/messages', kinds: ['LLM'] },
  { ...text, name: 'count_tokens', path: '/v1/messages/count_tokens', kinds: ['LLM'], spendsNothing: true },
  { ...text, name: 'embeddings', path: '/v1/embeddings', kinds: ['Embedding'] },
  { ...text, name: 'rerank', path: '/v1/rerank', kinds: ['Rerank'] },
  { ...text, name: 'rerank_v2', path: '/v2/rerank', kinds: ['Rerank'] },
  { ...text, name: 'score', path: '/v1/score', kinds: ['Rerank'] },
  { ...tokens, name: 'tokenize', path: '/tokenize' },
  { ...tokens, name: 'detokenize', path: '/detokenize' },
  { ...text, name: 'transcriptions', path: '/v1/audio/transcriptions', kinds: ['Transcription'] },
  { ...text, name: 'translations', path: '/v1/audio/translations', kinds: ['Transcription'] },
  { ...text, name: 'speech', path: '/v1/audio/speech', kinds: ['Speech'] },
  { ...tokens, name: 'tokenizer_info', method: 'GET', path: '/tokenizer_info', isEngines: false },
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
  { ...people, name: 'request_input', method: 'GET', path: '/v1/requests/{id}/input' },
  { ...people, name: 'request_retry', method: 'POST', path: '/v1/requests/{id}/retry', served: 'accepting' },
  { ...records, name: 'request', method: 'GET', path: '/v1/requests/{id}' },
  { ...batchWork, name: 'file_upload', path: '/v1/files' },
  { ...batches, name: 'file_list', method: 'GET', path: '/v1/files' },
  { ...batches, name: 'file_content', method: 'GET', path: '/v1/files/{id}/content' },
  { ...batches, name: 'file', method: 'GET', path: '/v1/files/{id}' },
  { ...batches, name: 'file_delete', method: 'DELETE', path: '/v1/files/{id}' },
  { ...batchWork, name: 'batch_create', path: '/v1/batches' },
  { ...batches, name: 'batch_list', method: 'GET', path: '/v1/batches' },
  { ...batches, name: 'batch_cancel', method: 'POST', path: '/v1/batches/{id}/cancel' },
  { ...batches, name: 'batch', method: 'GET', path: '/v1/batches/{id}' },
  { name: 'result', method: 'GET', path: '/v1/results/{object}', ...everyone },
  { name: 'health', method: 'GET', path: '/health', kinds: null, isCounted: false, served: 'always' },
  { name: 'openapi', method: 'GET', path: '/openapi.json', kinds: null, isCounted: false, served: 'always' },
] as const satisfies readonly Route[];

export type RouteName = (typeof ALL_ROUTES)[number]['name'];

export interface Route {
  /** Label of metrics. */
  name: string;
  method: 'GET' | 'POST' | 'DELETE';
  /** May contain one `{name}`, which matches one segment; `{model}` and `{object}` match several, as ids of models and keys of objects may contain slashes. */
  path: string;
  /** Kinds of deployment that serve it; null = all. */
  kinds: readonly ModelKind[] | null;
  /** Kinds whose callers error messages mention it to, if fewer. */
  namedTo?: readonly ModelKind[];
  /** Whether it exists only on deployments whose engine serves it (`GatewayConfig.routes`). */
  isEngines?: boolean;
  /** Whether it counts against RPM, TPD and credit (docs/api.md, "Limits"). */
  isCounted: boolean;
  /** Then against RPM only. */
  spendsNothing?: true;
  /** Not counted, but refused while the key's budgets or the credit are used up: its work is charged later. */
  spendsLater?: true;
  /**
   * When it is served: `ready` only by a replica, `accepting` also while none is ready unless the deployment is paused or
   * being deleted, `always` even then.
   */
  served: 'ready' | 'accepting' | 'always';
}

/** What decides which routes a deployment serves. */
export type ServedModel = Pick<GatewayConfig, 'kind' | 'routes'>;

/** Whether the engine of a deployment of the right kind serves it. */
export const isSpoken = ({ isEngines, path }: Route, { routes }: { routes: readonly string[] }): boolean =>
  !isEngines || routes.includes(path);

export interface RouteMatch {
  methods: ReadonlyMap<string, Route>;
  /** What matched `{name}`, not decoded; '' without one. */
  parameter: string;
}

interface Pattern {
  before: string;
  after: string;
  hasSlashes: boolean;
  methods: Map<string, Route>;
}

export class RouteTable {
  readonly #fixed = new Map<string, RouteMatch & { methods: Map<string, Route> }>();
  readonly #patterns: Pattern[] = [];
  readonly #routes: readonly Route[];

  constructor(routes: readonly Route[]) {
    this.#routes = routes;
    for (const route of routes) this.#methodsOf(route.path).set(route.method, route);
  }

  match(path: string): RouteMatch | null {
    const fixed = this.#fixed.get(path);
    if (fixed) return fixed;
    for (const { before, after, hasSlashes, methods } of this.#patterns) {
      if (!path.startsWith(before) || !path.endsWith(after)) continue;
      const parameter = path.slice(before.length, path.length - after.length);
      if (parameter === '' || (!hasSlashes && parameter.includes('/'))) continue;
      return { methods, parameter };
    }
    return null;
  }

  /** The paths that this deployment serves, for messages. */
  listFor(model: ServedModel): string {
    return [...new Set(this.#listServed(model).map(({ path }) => path))].join(', ');
  }

  /** The paths of the routes by which this deployment's model is used. */
  listInference(model: ServedModel): string[] {
    return this.#listServed(model).flatMap(({ method, served, path }) =>
      method === 'POST' && served !== 'always' ? [path] : [],
    );
  }

  #listServed(model: ServedModel): Route[] {
    return this.#routes.filter((route) => {
      const { kinds, namedTo = kinds } = route;
      return (namedTo === null || namedTo.includes(model.kind)) && isSpoken(route, model);
    });
  }

  #methodsOf(path: string): Map<string, Route> {
    const [before, after] = path.split(/\{\w+\}/);
    if (after === undefined) {
      const found = this.#fixed.get(path) ?? { methods: new Map<string, Route>(), parameter: '' };
      this.#fixed.set(path, found);
      return found.methods;
    }
    const pattern = this.#patterns.find((known) => known.before === before && known.after === after);
    if (pattern) return pattern.methods;
    const methods = new Map<string, Route>();
    this.#patterns.push({ before: before!, after, hasSlashes: /\{(model|object)\}/.test(path), methods });
    return methods;
  }
}

export const ROUTES = new RouteTable(ALL_ROUTES);
