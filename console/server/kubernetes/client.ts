/** Client of the API server: JSON calls with the caller's bearer token, so that RBAC and audit logs apply to the user. */
import { Agent } from 'undici';
import { z } from 'zod';
import { API_VERSION } from '../../../api/kubernetes-types.ts';
import { GROUP, VERSION } from '../../../api/names.ts';
import { KubernetesError } from './error.ts';

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    generation?: number;
    resourceVersion?: string;
    creationTimestamp?: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    ownerReferences?: object[];
  };
  spec?: unknown;
  status?: unknown;
  [field: string]: unknown;
}

/** A resource of Berth, or Secrets. */
export interface ObjectPlace {
  plural: string;
  namespace: string;
}

export interface ResourceAttributes {
  verb: string;
  resource: string;
  subresource?: string;
  group?: string;
  /** Absent = in all namespaces. */
  namespace?: string;
}

interface Call {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  body?: object;
}

const TIMEOUT_MS = 10_000;
const PAGE = 500;
/** More is not useful on a page, and the list is in memory. */
const MAX_OBJECTS = 5_000;

const listOf = z.object({
  items: z.array(z.custom<KubeObject>((item) => typeof item === 'object' && item !== null)),
  metadata: z.object({ continue: z.string().optional() }).optional(),
});
const selfSubject = z.object({ status: z.object({ userInfo: z.object({ username: z.string() }) }) });
const accessReview = z.object({ status: z.object({ allowed: z.boolean() }) });

export class Kubernetes {
  readonly #url: string;
  readonly #agent: Agent;

  constructor({ url, ca }: { url: string; ca: string | undefined }) {
    this.#url = url;
    this.#agent = new Agent({ connect: { ca }, connections: 32, headersTimeout: 0, bodyTimeout: 0 });
  }

  async list(token: string, place: ObjectPlace): Promise<KubeObject[]> {
    return this.#listAll(token, collectionPath(place));
  }

  get(token: string, place: ObjectPlace, name: string): Promise<KubeObject> {
    return this.#call(token, { method: 'GET', path: objectPath(place, name) }) as Promise<KubeObject>;
  }

  create(token: string, place: ObjectPlace, object: KubeObject): Promise<KubeObject> {
    const call = { method: 'POST', path: collectionPath(place), body: object } as const;
    return this.#call(token, call) as Promise<KubeObject>;
  }

  /** A JSON merge patch. */
  patch(token: string, place: ObjectPlace, name: string, body: object): Promise<KubeObject> {
    const call = { method: 'PATCH', path: objectPath(place, name), body } as const;
    return this.#call(token, call) as Promise<KubeObject>;
  }

  async remove(token: string, place: ObjectPlace, name: string): Promise<void> {
    await this.#call(token, { method: 'DELETE', path: objectPath(place, name) });
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
    const namespaces = await this.#listAll(token, '/api/v1/namespaces');
    return namespaces.map(({ metadata }) => metadata.name);
  }

  /** False if the user cannot read namespaces. */
  async isNamespaceMissing(token: string, namespace: string): Promise<boolean> {
    try {
      await this.#call(token, { method: 'GET', path: `/api/v1/namespaces/${encode(namespace)}` });
      return false;
    } catch (error) {
      if (error instanceof KubernetesError) return error.status === 404;
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #listAll(token: string, path: string): Promise<KubeObject[]> {
    const found: KubeObject[] = [];
    let next = '';
    do {
      const query = `?limit=${PAGE}${next && `&continue=${encodeURIComponent(next)}`}`;
      const { items, metadata } = listOf.parse(
        await this.#call(token, { method: 'GET', path: path + query }),
      );
      found.push(...items);
      next = metadata?.continue ?? '';
    } while (next !== '' && found.length < MAX_OBJECTS);
    return found;
  }

  async #call(token: string, { method, path, body }: Call): Promise<unknown> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    let status: number;
    let answer: unknown;
    try {
      const response = await this.#agent.request({
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
      });
      status = response.statusCode;
      answer = await response.body.json();
    } catch (error) {
      throw new KubernetesError(0, { message: (error as Error).message });
    }
    if (status < 200 || status > 299) throw new KubernetesError(status, answer);
    return answer;
  }
}

const encode = encodeURIComponent;

function collectionPath({ plural, namespace }: ObjectPlace): string {
  const root = plural === 'secrets' ? '/api/v1' : `/apis/${API_VERSION}`;
  return `${root}/namespaces/${encode(namespace)}/${encode(plural)}`;
}

/** Names that could change the path, such as `..`, are treated as not found. */
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

function objectPath(place: ObjectPlace, name: string): string {
  if (!NAME.test(name)) throw new KubernetesError(404, { message: `${place.plural} "${name}" not found` });
  return `${collectionPath(place)}/${encode(name)}`;
}

/** Parses stored objects and applies defaults; skips objects of another version that cannot be parsed. */
export const parseObjects = <S extends z.ZodType>(schema: S, objects: readonly KubeObject[]): z.output<S>[] =>
  objects.flatMap((object) => {
    const parsed = schema.safeParse(object);
    return parsed.success ? [parsed.data] : [];
  });
