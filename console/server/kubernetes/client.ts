/** Client of the API server: JSON calls with the caller's bearer token, so that RBAC and audit logs apply to the user. */
import type { IncomingHttpHeaders } from 'node:http';
import { Agent } from 'undici';
import { z } from 'zod';
import { GROUP, VERSION } from '../../../api/names.ts';
import { ConcurrencyLimit } from '../../../kit/concurrency-limit.ts';
import { connectHTTP1, HTTP1_ONLY } from '../../../kit/http1.ts';
import { isTooLarge } from '../../../kube/api-error.ts';
import { MAX_ANSWER_BYTES, MAX_OBJECT_BYTES, readText } from '../../../kube/bounded-text.ts';
import { buildEviction } from '../../../kube/eviction.ts';
import { KubernetesError } from './error.ts';
import { fieldManagerQuery } from './field-manager.ts';
import type { KubeObject, ObjectView } from './object.ts';
import { collectionPath, type ObjectPlace, objectPath, type Selection } from './paths.ts';

export interface ResourceAttributes {
  verb: string;
  resource: string;
  subresource?: string;
  group?: string;
  /** Absent = in all namespaces. */
  namespace?: string;
}

/** The result of a write or dry run. */
export interface Written {
  object: KubeObject;
  /** Warnings of admission policies. */
  warnings: string[];
}

/** The writer: the API server records the user with the change. */
export interface Author {
  token: string;
  user?: string;
}

interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  body?: object;
  maxBytes?: number;
}

const TIMEOUT_MS = 10_000;
const PAGE_OBJECTS = 500;
/** Maximum shown on a page. */
const MAX_OBJECTS = 5_000;
/** Responses in memory at once: users' data may make each as large as `MAX_OBJECT_BYTES`. */
const MAX_ANSWERS = 3;

const listOf = z.object({
  items: z.array(z.custom<KubeObject>((item) => typeof item === 'object' && item !== null)),
  metadata: z.object({ continue: z.string().optional() }).optional(),
});
const selfSubject = z.object({ status: z.object({ userInfo: z.object({ username: z.string() }) }) });
const accessReview = z.object({ status: z.object({ allowed: z.boolean() }) });

export class Kubernetes {
  readonly #url: string;
  readonly #agent: Agent;
  readonly #limit = new ConcurrencyLimit(MAX_ANSWERS);

  constructor({ url, ca }: { url: string; ca: string | undefined }) {
    this.#url = url;
    this.#agent = new Agent({
      ...HTTP1_ONLY,
      connect: connectHTTP1({ ca }),
      connections: 32,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** The views of all objects. The objects themselves are not kept: together they may exceed memory. */
  list<V>(token: string, place: ObjectPlace, view: ObjectView<V>, selection: Selection = {}): Promise<V[]> {
    return this.#listAll(token, collectionPath(place), view, selection);
  }

  get(token: string, place: ObjectPlace, name: string): Promise<KubeObject> {
    return this.#call(token, { method: 'GET', path: objectPath(place, name) }) as Promise<KubeObject>;
  }

  create(author: Author, place: ObjectPlace, object: KubeObject): Promise<KubeObject> {
    const path = collectionPath(place) + fieldManagerQuery(author.user);
    const call = { method: 'POST', path, body: object } as const;
    return this.#call(author.token, call) as Promise<KubeObject>;
  }

  /** A JSON merge patch. */
  patch(author: Author, place: ObjectPlace, name: string, body: object): Promise<KubeObject> {
    const path = objectPath(place, name) + fieldManagerQuery(author.user);
    const call = { method: 'PATCH', path, body } as const;
    return this.#call(author.token, call) as Promise<KubeObject>;
  }

  /**
   * Creates an object, or replaces the one with its name if it has a `resourceVersion`; rejects unknown fields. `dryRun`:
   * everything but storing it.
   */
  write(
    author: Author,
    place: ObjectPlace,
    object: KubeObject,
    { dryRun }: { dryRun: boolean },
  ): Promise<Written> {
    const query = `${fieldManagerQuery(author.user)}&fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`;
    const { name, resourceVersion } = object.metadata;
    const call: Call = resourceVersion
      ? { method: 'PUT', path: objectPath(place, name) + query, body: object }
      : { method: 'POST', path: collectionPath(place) + query, body: object };
    return this.#read(author.token, call, (answer, headers) => ({
      object: answer as KubeObject,
      warnings: readWarnings(headers.warning),
    }));
  }

  async remove(token: string, place: ObjectPlace, name: string): Promise<void> {
    await this.#call(token, { method: 'DELETE', path: objectPath(place, name) });
  }

  /** Deletes a pod with its own grace period, if its disruption budget allows it now; 429 otherwise. */
  async evict(token: string, { namespace }: { namespace: string }, pod: KubeObject): Promise<void> {
    const path = `${objectPath({ plural: 'pods', namespace }, pod.metadata.name)}/eviction`;
    const body = buildEviction(pod);
    await this.#call(token, { method: 'POST', path, body });
  }

  /** The name of the token's user according to the API server. */
  async readUser(token: string): Promise<string> {
    const apiVersion = 'authentication.k8s.io/v1';
    const body = { apiVersion, kind: 'SelfSubjectReview' };
    const path = `/apis/${apiVersion}/selfsubjectreviews`;
    return selfSubject.parse(await this.#call(token, { method: 'POST', path, body })).status.userInfo
      .username;
  }

  /** Whether the token's user has this permission; the group defaults to Berth's. */
  async isAllowed(token: string, attributes: ResourceAttributes): Promise<boolean> {
    const apiVersion = 'authorization.k8s.io/v1';
    const resourceAttributes = { group: GROUP, ...attributes };
    const body = { apiVersion, kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };
    const path = `/apis/${apiVersion}/selfsubjectaccessreviews`;
    return accessReview.parse(await this.#call(token, { method: 'POST', path, body })).status.allowed;
  }

  async listNamespaces(token: string): Promise<string[]> {
    return this.#listAll(token, '/api/v1/namespaces', ({ metadata }) => metadata.name, {});
  }

  /** False if the user cannot read namespaces. */
  async isNamespaceMissing(token: string, namespace: string): Promise<boolean> {
    try {
      await this.#call(token, { method: 'GET', path: `/api/v1/namespaces/${encodeURIComponent(namespace)}` });
      return false;
    } catch (error) {
      if (error instanceof KubernetesError) return error.status === 404;
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #listAll<V>(token: string, path: string, view: ObjectView<V>, selection: Selection): Promise<V[]> {
    const views: V[] = [];
    let limit = PAGE_OBJECTS;
    let seen = 0;
    let next = '';
    for (;;) {
      const query = `?${new URLSearchParams({ ...selection, limit: String(limit), ...(next && { continue: next }) })}`;
      const maxBytes = limit === 1 ? MAX_OBJECT_BYTES : MAX_ANSWER_BYTES;
      try {
        const call = { method: 'GET', path: path + query, maxBytes } as const;
        next = await this.#read(token, call, (answer) => {
          const { items, metadata } = listOf.parse(answer);
          seen += items.length;
          for (const item of items) {
            const shown = view(item);
            if (shown !== undefined) views.push(shown);
          }
          return metadata?.continue ?? '';
        });
      } catch (error) {
        if (!isTooLarge(error) || limit === 1) throw error;
        limit = Math.max(1, Math.floor(limit / 8));
        continue;
      }
      if (next === '' || seen >= MAX_OBJECTS) return views;
    }
  }

  #call(token: string, call: Call): Promise<unknown> {
    return this.#read(token, call, (answer) => answer);
  }

  /** `view` gets the response; only what it returns stays in memory. */
  async #read<R>(
    token: string,
    call: Call,
    view: (answer: unknown, headers: IncomingHttpHeaders) => R,
  ): Promise<R> {
    const { method, path, body, maxBytes = MAX_OBJECT_BYTES } = call;
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const response = await this.#agent
      .request({
        origin: this.#url,
        path,
        method,
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'application/json',
          'user-agent': `berth-console/${VERSION}`,
          ...(body && { 'content-type': type }),
        },
        body: body ? JSON.stringify(body) : null,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      .catch(reportNoAnswer);
    return this.#limit.run(async () => {
      const answer = await readText(response.body, `${method} ${path}`, maxBytes)
        .then((text): unknown => JSON.parse(text))
        .catch(reportNoAnswer);
      const { statusCode } = response;
      if (statusCode < 200 || statusCode > 299) throw new KubernetesError(statusCode, answer);
      return view(answer, response.headers);
    });
  }
}

/** Such as `299 - "spec.gpu: too small"`; `\\` escapes within the quotes. Headers are at most 16 KiB in all. */
export function readWarnings(header: string | string[] | undefined): string[] {
  const text = Array.isArray(header) ? header.join(', ') : (header ?? '');
  return [...text.matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text]) =>
    text!.replaceAll(/\\(.)/g, '$1'),
  );
}

function reportNoAnswer(error: unknown): never {
  if (isTooLarge(error)) throw error;
  throw new KubernetesError(0, { message: (error as Error).message });
}
