/** The endpoint of a deployment with a key for it. */
import { errorEnvelope, type ModelObject, modelList } from '../../api/api-objects.ts';
import { API_KEY_SECRET_FIELD, apiKeySecretName } from '../../api/names.ts';
import type { Variables } from '../../kit/environment.ts';
import type { KubeObject } from '../../kube/object.ts';
import { RESOURCES } from '../../kube/resource.ts';
import type { EndpointsFile } from '../../launch/endpoints-file.ts';
import { findDeployment } from '../deployment/deployment.ts';
import { describeCondition } from '../deployment/why.ts';
import { Failure } from '../framework/failure.ts';
import type { Target } from '../framework/target.ts';

export interface Endpoint {
  /** Ends in /v1. */
  url: string;
  key: string;
  model: ModelObject;
}

export const KEY_VARIABLE = 'BERTH_KEY';

/** Throws Failure if the deployment does not serve `route`, or the key is not valid. */
export async function openEndpoint(
  target: Target,
  { name, keyName, route }: { name: string; keyName: string | undefined; route: string },
  variables: Variables,
): Promise<Endpoint> {
  const deployment = await findDeployment(target, name);
  const url = deployment.status?.url;
  if (!url) {
    const condition = deployment.status?.conditions?.find(({ type }) => type === 'Ready');
    const { sentence } = describeCondition(deployment, condition);
    throw new Failure('not_ready', `${name} has no URL yet: ${sentence}`);
  }
  const key = await readKey(target, keyName, variables);
  const answer = await callEndpoint({ url, key }, 'models');
  const [model] = modelList.parse(await answer.json()).data;
  if (!model!.routes.includes(`/v1${route}`))
    throw new Failure('failed', `${name} does not serve /v1${route}; it serves ${model!.routes.join(', ')}`);
  return { url, key, model: model! };
}

async function readKey(target: Target, name: string | undefined, variables: Variables): Promise<string> {
  if (name !== undefined) return readSecret(target, name);
  const { namespace, place } = target;
  const key =
    variables[KEY_VARIABLE] || (place.kind !== 'cluster' && findLocalKey(place.endpoints, namespace));
  if (key) return key;
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
  { url, key }: Pick<Endpoint, 'url' | 'key'>,
  path: string,
  request: { body?: object; signal?: AbortSignal | undefined } = {},
): Promise<Response> {
  const { body, signal } = request;
  const response = await fetch(`${url}/${path}`, {
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    // Another host would receive the key.
    redirect: 'manual',
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: Error & { cause?: Error }) => {
    if (signal?.aborted) throw error;
    const reason = error.cause?.message || error.message;
    throw new Failure('unreachable', `${url} does not answer: ${reason}`, { cause: error });
  });
  if (response.ok) return response;
  const { status } = response;
  const envelope = errorEnvelope.safeParse(await response.json().catch(() => null));
  const what = envelope.success
    ? describeEnvelope(envelope.data.error)
    : `${url} answered ${status} without a reason`;
  throw new Failure(status === 503 ? 'not_ready' : 'failed', what);
}

export const describeEnvelope = ({ message, code }: { message: string; code?: string | null }): string =>
  code ? `${message} (${code})` : message;
