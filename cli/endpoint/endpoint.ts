/** The endpoint of a deployment with a key for it. */
import { errorEnvelope, type ModelObject, modelList } from '../../api/api-objects.ts';
import { API_KEY_SECRET_FIELD, apiKeySecretName, childNames } from '../../api/names.ts';
import { readBody } from '../../kit/bounded-body.ts';
import type { Variables } from '../../kit/environment.ts';
import type { KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import type { EndpointsFile } from '../../launch/endpoints-file.ts';
import { findDeployment } from '../deployment/deployment.ts';
import { Failure } from '../framework/failure.ts';
import { isPod, isReadableByOthers } from '../framework/plain-http.ts';
import type { Target } from '../framework/target.ts';

export interface Endpoint {
  /** Ends in /v1. */
  url: string;
  key: string;
  /** Where the key is from, for messages. */
  keySource: string;
  model: ModelObject;
}

type Access = Omit<Endpoint, 'model'>;

export interface EndpointRequest {
  name: string;
  route: string;
  /** Name of an APIKey. */
  keyName?: string | undefined;
  /** Instead of the deployment's own. */
  url?: string | undefined;
  isPlainAllowed?: boolean;
}

/** Those that a deployment can have. */
const MODEL_ID = /^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/;

export const KEY_VARIABLE = 'BERTH_KEY';
/** Lists of one model and errors are smaller. */
const MAX_ANSWER_BYTES = 1024 ** 2;

/** Throws Failure if the deployment does not serve the route, or the key is not valid. */
export async function openEndpoint(
  target: Target,
  request: EndpointRequest,
  variables: Variables,
): Promise<Endpoint> {
  const { name, route, keyName } = request;
  const url = await findURL(target, request, isPod(variables));
  const access = { url, ...(await readKey(target, keyName, variables)) };
  const model = await readModel(access).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.kind !== 'unreachable' || target.place.kind === 'run')
      throw error;
    const { service } = childNames(name);
    throw new Failure(
      'unreachable',
      `${error.message}. Without a way in from here, run kubectl port-forward -n ${target.namespace} service/${service} 8080:80, and add --url http://localhost:8080`,
      { cause: error },
    );
  });
  if (!model.routes.includes(`/v1${route}`))
    throw new Failure('failed', `${name} does not serve /v1${route}; it serves ${model.routes.join(', ')}`);
  return { ...access, model };
}

async function findURL(
  target: Target,
  { name, url: given, isPlainAllowed }: EndpointRequest,
  isInPod: boolean,
): Promise<string> {
  const deployment = await findDeployment(target, name);
  const url = given === undefined ? deployment.status?.url : readURL(given);
  if (!url)
    throw new Failure(
      'not_ready',
      `${name} has no URL yet: berth why ${name} -n ${target.namespace} says what it waits for`,
    );
  // The addresses of make cluster are on this machine.
  const isMade = target.place.kind === 'made' && given === undefined;
  if (!isMade && !isPlainAllowed && isReadableByOthers(new URL(url), isInPod))
    throw new Failure(
      'usage',
      `${url} would get your API key over plain HTTP, where others can read it: use https, or --plain-http`,
    );
  return url;
}

/** With or without /v1. */
function readURL(given: string): string {
  const url = URL.parse(given);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new Failure('usage', `--url ${given} is not an address such as http://localhost:8080`);
  return `${url.origin}${url.pathname.replace(/\/(v1\/?)?$/, '')}/v1`;
}

async function readModel(access: Access): Promise<ModelObject> {
  const response = await callEndpoint(access, 'models');
  const list = modelList.safeParse(await readJSON(response));
  const model = list.data?.data[0];
  // Agents take braces in a name for variables and files of this machine.
  if (model && !MODEL_ID.test(model.id))
    throw new Failure('failed', `${access.url} names its model in a way that no deployment does`);
  if (model) return model;
  throw new Failure(
    'unreachable',
    `${access.url} is no endpoint of Berth: it answered ${response.status} without a list of models; check its DNS and its Ingress or Gateway`,
  );
}

async function readKey(
  target: Target,
  name: string | undefined,
  variables: Variables,
): Promise<Omit<Access, 'url'>> {
  if (name !== undefined) return { key: await readSecret(target, name), keySource: `the APIKey ${name}` };
  const { namespace, place, where } = target;
  const own = variables[KEY_VARIABLE];
  if (own) return { key: own, keySource: KEY_VARIABLE };
  const key = place.kind === 'cluster' ? undefined : findLocalKey(place.endpoints, namespace);
  if (key) return { key, keySource: where };
  throw new Failure(
    'usage',
    `there is no API key: export ${KEY_VARIABLE}=$(berth key -n ${namespace}), or name an APIKey whose Secret you may read with --key`,
  );
}

/** Key of the workspace, by which `make run` and `make cluster` serve it. */
function findLocalKey(endpoints: EndpointsFile, namespace: string): string | undefined {
  const { deployments, otherWorkspace, exhaustedWorkspace } = endpoints;
  const entries = [
    ...deployments,
    ...[otherWorkspace, exhaustedWorkspace].flatMap((workspace) => workspace ?? []),
  ];
  return entries.find((entry) => entry.namespace === namespace)?.apiKey;
}

async function readSecret({ client, namespace }: Target, name: string): Promise<string> {
  const secret = apiKeySecretName(name);
  const found = await client.find<KubeObject & { data?: Record<string, string> }>(RESOURCES.Secret, {
    namespace,
    name: secret,
  });
  const data = found?.data?.[API_KEY_SECRET_FIELD];
  if (data) return Buffer.from(data, 'base64').toString();
  throw new Failure(
    'not_found',
    `there is no Secret ${secret} in ${namespace}: only keys that the operator created have one; set ${KEY_VARIABLE} to the key of another`,
  );
}

/** A response of the endpoint. Throws Failure with the words of its error. */
export async function callEndpoint(
  { url, key, keySource }: Access,
  path: string,
  request: { body?: object; form?: FormData; signal?: AbortSignal | undefined } = {},
): Promise<Response> {
  const { body, form, signal } = request;
  const response = await fetch(`${url}/${path}`, {
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    // Another host would receive the key.
    redirect: 'manual',
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    ...(form && { method: 'POST', body: form }),
    ...(signal && { signal }),
  }).catch((error: Error & { cause?: Error }) => {
    if (signal?.aborted) throw error;
    const reason = error.cause?.message || error.message;
    throw new Failure('unreachable', `${url} does not answer: ${reason}`, { cause: error });
  });
  if (response.ok) return response;
  const { status } = response;
  const envelope = errorEnvelope.safeParse(await readJSON(response));
  const what = envelope.success
    ? describeEnvelope(envelope.data.error)
    : `${url} answered ${status} without a reason`;
  const whose = status === 401 ? `; the key is that of ${keySource}` : '';
  throw new Failure(status === 503 ? 'not_ready' : 'failed', what + whose);
}

/** null: it is no JSON, or too much. */
async function readJSON({ body }: Response): Promise<unknown> {
  try {
    return JSON.parse((await readBody(body!, MAX_ANSWER_BYTES)).toString());
  } catch {
    return null;
  }
}

export const describeEnvelope = ({ message, code }: { message: string; code?: string | null }): string =>
  code ? `${message} (${code})` : message;
