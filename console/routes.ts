/**
 * The HTTP API between the console's page and its server: one route a line, from which come the server's router and its checks of
 * bodies, and the page's calls and query keys. Errors have the endpoints' envelope; a body that its schema refuses returns 400 with
 * `param`. Writes require CSRF_HEADER. Without a session, all but public routes return 401.
 */
import type { z } from 'zod';
import type * as view from './api.ts';
import type { bodies } from './bodies.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Bodies = typeof bodies;

export interface Route<Path extends string = string, Schema = unknown, Answer = unknown> {
  readonly method: Method;
  /** With parameters, such as `:name`. */
  readonly path: Path;
  /** Name of the schema of its JSON body: the page does not load the schemas. */
  readonly body?: keyof Bodies;
  /** Needs no session. */
  readonly isPublic?: true;
  /** For types only: never there. */
  readonly types?: { schema: Schema; answer: Answer };
}

type Parameter<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Parameter<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;
type Types<R extends Route> = NonNullable<R['types']>;
export type ParamsOf<R extends Route> = Record<Parameter<R['path']>, string>;
export type AnswerOf<R extends Route> = Types<R>['answer'];
/** As it is sent. */
export type BodyOf<R extends Route> = Types<R>['schema'] extends z.ZodType
  ? z.input<Types<R>['schema']>
  : // biome-ignore lint/suspicious/noConfusingVoidType: an action without variables takes void
    void;
/** As its schema returns it. */
export type ParsedBodyOf<R extends Route> = Types<R>['schema'] extends z.ZodType
  ? z.output<Types<R>['schema']>
  : never;

const route = <Path extends string, Body extends keyof Bodies | undefined = undefined>(
  method: Method,
  path: Path,
  body?: Body,
) => ({
  answers: <Answer>(): Route<Path, Body extends keyof Bodies ? Bodies[Body] : undefined, Answer> => ({
    method,
    path,
    ...(body && { body }),
  }),
});

const NAMESPACE = '/api/namespaces/:namespace';
const inNamespace = <Path extends string, Body extends keyof Bodies | undefined = undefined>(
  method: Method,
  path: Path,
  body?: Body,
) => route(method, `${NAMESPACE}${path}`, body);

export const routes = {
  signIn: { ...route('POST', '/api/session', 'signIn').answers<view.SessionView>(), isPublic: true },
  readSession: route('GET', '/api/session').answers<view.SessionView>(),
  signOut: route('DELETE', '/api/session').answers<view.SignOutView | undefined>(),
  /** An error of the last sign-in is reported once. */
  readSignIn: { ...route('GET', '/api/sign-in').answers<view.SignInView>(), isPublic: true },
  startOIDC: { ...route('POST', '/api/oidc', 'oidcSignIn').answers<view.OIDCSignInView>(), isPublic: true },

  readAccess: inNamespace('GET', '/access').answers<view.AccessView>(),
  /** Server-sent events, each with a LiveUpdate in its data. */
  followChanges: inNamespace('GET', '/live').answers<void>(),
  listProblems: inNamespace('GET', '/problems').answers<view.ProblemsView>(),
  listMembers: inNamespace('GET', '/members').answers<view.MembersView>(),
  listChanges: inNamespace('GET', '/changes').answers<view.ChangesView>(),

  listDeployments: inNamespace('GET', '/deployments').answers<view.DeploymentView[]>(),
  readDeployment: inNamespace('GET', '/deployments/:name').answers<view.DeploymentView>(),
  /** Pauses, resumes or scales; absent fields stay as they are. */
  changeDeployment: inNamespace(
    'PATCH',
    '/deployments/:name',
    'deploymentChange',
  ).answers<view.DeploymentView>(),
  deleteDeployment: inNamespace('DELETE', '/deployments/:name').answers<void>(),
  /** A `…/dry-run`: the API server checks everything and stores nothing. */
  createDeployment: inNamespace('POST', '/deployments', 'manifest').answers<view.ManifestResult>(),
  tryNewDeployment: inNamespace('POST', '/deployments/dry-run', 'manifest').answers<view.ManifestResult>(),
  replaceDeployment: inNamespace('PUT', '/deployments/:name', 'manifest').answers<view.ManifestResult>(),
  tryDeployment: inNamespace('POST', '/deployments/:name/dry-run', 'manifest').answers<view.ManifestResult>(),
  readManifest: inNamespace('GET', '/deployments/:name/manifest').answers<view.ManifestView>(),
  /** The last ten specs. */
  readHistory: inNamespace('GET', '/deployments/:name/history').answers<view.HistoryView>(),
  rollBack: inNamespace('POST', '/deployments/:name/rollback', 'rollback').answers<view.DeploymentView>(),
  /** All replicas, as a rollout. */
  restartDeployment: inNamespace('POST', '/deployments/:name/restart').answers<view.DeploymentView>(),
  /** One replica, if its disruption budget allows it now; 409 otherwise. */
  restartReplica: inNamespace('POST', '/deployments/:name/replicas/:pod/restart').answers<void>(),
  /** `?range=`: as far as its scaling is remembered; 1h by default. */
  readScaling: inNamespace('GET', '/deployments/:name/scaling').answers<view.ScalingHistoryView>(),
  readLoad: inNamespace('GET', '/deployments/:name/load').answers<view.LoadView>(),
  /** Its pods, oldest first. */
  listReplicas: inNamespace('GET', '/deployments/:name/replicas').answers<view.ReplicaView[]>(),
  /** The latest 100 about it and its pods, newest first. Kubernetes keeps them for an hour. */
  listEvents: inNamespace('GET', '/deployments/:name/events').answers<view.EventView[]>(),
  /**
   * `?container=&previous=`: plain text, the last lines and then each as it comes, until one of LOG_LIMITS. `previous=true`: of the
   * run before, without following.
   */
  readLog: inNamespace('GET', '/deployments/:name/replicas/:pod/log').answers<void>(),

  listKeys: inNamespace('GET', '/keys').answers<view.KeyView[]>(),
  createKey: inNamespace('POST', '/keys', 'newKey').answers<view.NewKeyView>(),
  changeKey: inNamespace('PATCH', '/keys/:name', 'keyChange').answers<view.KeyView>(),
  deleteKey: inNamespace('DELETE', '/keys/:name').answers<void>(),
  /** A new key takes the place of one: with its limits, and valid for as long as that one was. */
  rollKey: inNamespace('POST', '/keys/:name/roll', 'keyRoll').answers<view.NewKeyView>(),

  listWebhooks: inNamespace('GET', '/webhooks').answers<view.WebhookView[]>(),
  /** Creating and changing one wait up to 5 s for the operator to validate the URL; `refused` has the reason in `message`. */
  createWebhook: inNamespace('POST', '/webhooks', 'newWebhook').answers<view.WebhookView>(),
  changeWebhook: inNamespace('PATCH', '/webhooks/:name', 'webhookChange').answers<view.WebhookView>(),
  deleteWebhook: inNamespace('DELETE', '/webhooks/:name').answers<void>(),
  testWebhook: inNamespace('POST', '/webhooks/:name/test').answers<view.TestView>(),
  rollSigningSecret: inNamespace(
    'POST',
    '/signing-secret/roll',
    'secretRoll',
  ).answers<view.SigningSecretView>(),
  /** For an endpoint with a secret of its own. */
  rollWebhookSecret: inNamespace(
    'POST',
    '/webhooks/:name/signing-secret/roll',
    'secretRoll',
  ).answers<view.SigningSecretView>(),

  /**
   * `?endpoint=&request=&state=&within=&since=&until=&after=&limit=`: newest first, 200 at most, those after the one with the id
   * `after`. `endpoint=-` names inline callbacks; `request`: the ID of a request or of an event. `within`: as ranges of usage, up to
   * now; `since` (included) and `until` (not included): in ISO 8601.
   */
  listDeliveries: inNamespace('GET', '/deliveries').answers<view.DeliveryView[]>(),
  readDelivery: inNamespace('GET', '/deliveries/:id').answers<view.DeliveryDetail>(),
  resendDelivery: inNamespace('POST', '/deliveries/:id/resend').answers<view.ResendView>(),
  /** All failed ones since a time, of one endpoint or all. */
  resendDeliveries: inNamespace('POST', '/deliveries/resend', 'resend').answers<view.ResendView>(),

  /**
   * `?deployment=&status=&key=&within=&since=&until=&limit=&after=&id=`: of one deployment or all, newest first; `key`: the name of an
   * API key, a part of it or of its hint, or a user of playgrounds; times as for deliveries; `after`: `older` of the previous page;
   * `id`: that one alone.
   */
  listRequests: inNamespace('GET', '/requests').answers<view.RequestsView>(),
  /** `?deployment=&within=&since=&until=`: the latest of every kind that were in progress then, newest first. */
  listRecentRequests: inNamespace('GET', '/recent-requests').answers<view.RecentRequestView[]>(),
  /** With links to results. */
  readRequest: inNamespace('GET', '/requests/:deployment/:id').answers<view.RequestDetail>(),
  cancelRequest: inNamespace('POST', '/requests/:deployment/:id/cancel').answers<
    Omit<view.RequestView, keyof view.ChargeView>
  >(),
  /** A part of the queued requests. `?before=`: as the first part answered, so that all of them are of the same set. */
  cancelQueued: inNamespace('POST', '/requests/:deployment/cancel-queued').answers<view.CanceledView>(),
  readRequestInput: inNamespace('GET', '/requests/:deployment/:id/input').answers<view.RequestInputView>(),
  /** The same once more, of a failed or canceled request whose input is kept. */
  retryRequest: inNamespace('POST', '/requests/:deployment/:id/retry').answers<view.RetryView>(),

  /** `?deployment=&range=`: of one deployment or all. */
  readUsage: inNamespace('GET', '/usage').answers<view.UsageView>(),
  /** Traffic of the last hour, one for each deployment. */
  listTraffic: inNamespace('GET', '/usage/deployments').answers<view.TrafficView[]>(),
  /** `?deployment=&from=&to=&format=json|csv`: days in UTC, both included, the last 30 by default; 10,000 rows as JSON. */
  listKeyUsage: inNamespace('GET', '/usage/keys').answers<view.KeyUsageView[]>(),
  /** `?from=&to=`: of all deployments that are listed. */
  listKeyTotals: inNamespace('GET', '/usage/keys/totals').answers<view.KeyTotalView[]>(),

  listStorageCredentials: inNamespace('GET', '/storage-credentials').answers<view.StorageCredentialView[]>(),
  createStorageCredential: inNamespace(
    'POST',
    '/storage-credentials',
    'newStorageCredential',
  ).answers<view.StorageCredentialView>(),
  verifyStorageCredential: inNamespace(
    'POST',
    '/storage-credentials/:name/verify',
  ).answers<view.StorageCredentialView>(),
  deleteStorageCredential: inNamespace('DELETE', '/storage-credentials/:name').answers<void>(),
} as const;

/** Where the deployment's own endpoint is reached. */
export const PLAYGROUND_PATH = `${NAMESPACE}/deployments/:name/v1/` as const;
const relayed = <M extends Method, Path extends string>(method: M, path: Path) => ({
  answers: <Answer>(): Route<
    `${typeof PLAYGROUND_PATH}${Path}`,
    M extends 'POST' ? z.ZodType<unknown, object> : undefined,
    Answer
  > => ({
    method,
    path: `${PLAYGROUND_PATH}${path}`,
  }),
});

/** The playground calls the endpoint with a key that is valid for five minutes. Answers, including streams, are relayed unchanged. */
export const playgroundRoutes = {
  chat: relayed('POST', 'chat/completions').answers<void>(),
  complete: relayed('POST', 'completions').answers<void>(),
  embed: relayed('POST', 'embeddings').answers<view.EmbeddingAnswer>(),
  rerank: relayed('POST', 'rerank').answers<view.RerankAnswer>(),
  generateImages: relayed('POST', 'images/generations').answers<view.ImageAnswer>(),
  editImage: relayed('POST', 'images/edits').answers<view.ImageAnswer>(),
  createVideo: relayed('POST', 'videos').answers<{ id: string }>(),
  generateVideo: relayed('POST', 'videos/generations').answers<void>(),
  transcribe: relayed('POST', 'audio/transcriptions').answers<{ text?: string }>(),
  speak: relayed('POST', 'audio/speech').answers<void>(),
  listModels: relayed('GET', 'models').answers<void>(),
  readRequest: relayed('GET', 'requests/:id').answers<view.RelayedRequest>(),
};

/** Values for a path and its query. */
export type Args = Record<string, string | undefined>;

/** The URL of a call, without origin: arguments that the path does not name are its query, except empty ones. */
export function locate({ path }: Route, args: Args): string {
  const query = { ...args };
  const located = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    delete query[name];
    return encodeURIComponent(args[name] ?? '');
  });
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) asked.set(name, value);
  return asked.size > 0 ? `${located}?${asked}` : located;
}
