/** Problems in a namespace, as far as the user may see them (decision 0326). */
import { apiKey, apiKeyResource } from '../../../api/api-key.ts';
import { modelDeployment, modelDeploymentResource } from '../../../api/model-deployment.ts';
import { storageCredential, storageCredentialResource } from '../../../api/storage-credential.ts';
import { webhookEndpoint, webhookEndpointResource } from '../../../api/webhook-endpoint.ts';
import { readSpentMicros } from '../../../redis/admission/admission-calls.ts';
import { readGrantedMicros, readKeyUsage } from '../../../redis/console/console-reads.ts';
import { readOldest } from '../../../redis/requests/request-record.ts';
import type { ProblemsView, ProblemView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { KubernetesError } from '../kubernetes/error.ts';
import { type KubeObject, viewAs } from '../kubernetes/object.ts';
import { PromiseCache } from '../sessions/promise-cache.ts';
import type { Session } from '../sessions/session.ts';
import { describeDeployment, isQueued } from '../views/deployment.ts';
import { describeKey, hashOf } from '../views/key.ts';
import {
  findCreditProblems,
  findDeploymentProblems,
  findKeyProblems,
  findQueueProblem,
  findStorageProblems,
  findWebhookProblems,
  sortProblems,
} from '../views/problem.ts';
import { describeStorageCredential } from '../views/storage-credential.ts';
import { describeWebhook } from '../views/webhook.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

/** All tabs of a user request it, on every page. */
const TTL_MS = 5_000;
const MAX_ENTRIES = 5_000;
/** Limit of queues and keys whose counters are read. */
const MAX_READ = 200;
const MAX_PROBLEMS = 100;
const FORBIDDEN = 403;

export function addProblemRoutes(serve: ServeRoute, services: Services): void {
  const { kubernetes, access, redis, presence } = services;
  const answers = new PromiseCache<ProblemsView>({ ttlMs: TTL_MS, maxEntries: MAX_ENTRIES });

  serve(routes.listProblems, async ({ session, namespace }) => {
    return await answers.get(`${session.digest} ${namespace}`, () => find(session, namespace));
  });

  const find = async (session: Session, namespace: string): Promise<ProblemsView> => {
    const [mayReadRequests, mayReadUsage] = await Promise.all([
      access.may(session, namespace, 'readRequests'),
      access.may(session, namespace, 'readUsage'),
    ]);
    const list = <V>(plural: string, view: (object: KubeObject) => V | undefined): Promise<V[]> =>
      kubernetes.list(session.token, { plural, namespace }, view).catch((error) => {
        if (error instanceof KubernetesError && error.status === FORBIDDEN) return [];
        throw error;
      });
    const [deployments, webhooks, credentials, keys] = await Promise.all([
      list(
        modelDeploymentResource.plural,
        viewAs(modelDeployment, (object) => {
          const view = describeDeployment(object);
          return { name: view.name, isQueued: isQueued(view.kind), problems: findDeploymentProblems(view) };
        }),
      ),
      list(
        webhookEndpointResource.plural,
        viewAs(webhookEndpoint, (each) => findWebhookProblems(describeWebhook(each), each.status.conditions)),
      ),
      list(
        storageCredentialResource.plural,
        viewAs(storageCredential, (each) =>
          findStorageProblems(describeStorageCredential(each), each.status.conditions),
        ),
      ),
      mayReadUsage
        ? list(
            apiKeyResource.plural,
            viewAs(apiKey, (key) => ({ view: describeKey(key), sha256: hashOf(key) })),
          )
        : [],
    ]);
    const queued = mayReadRequests ? deployments.filter((each) => each.isQueued) : [];
    const now = Date.now();
    const queues = presence.read(
      () =>
        Promise.all(
          queued
            .slice(0, MAX_READ)
            .map(async ({ name }) => findQueueProblem(name, await readOldest(redis, namespace, name), now)),
        ),
      [],
    );
    const limits = presence.read(
      () =>
        Promise.all(
          keys.slice(0, MAX_READ).map(async ({ view, sha256 }) => {
            const used = sha256 ? await readKeyUsage(redis, { namespace, sha256, now }) : null;
            return findKeyProblems({ ...view, usage: used && { ...used, lastUsedAt: null } });
          }),
        ),
      [],
    );
    const credit = presence.read(
      async () =>
        findCreditProblems(
          ...(await Promise.all([readGrantedMicros(redis, namespace), readSpentMicros(redis, namespace)])),
        ),
      [],
    );
    const problems: ProblemView[] = [
      ...deployments.flatMap((each) => each.problems),
      ...webhooks.flat(),
      ...credentials.flat(),
      ...(await queues).flat(),
      ...(await limits).flat(),
      ...(mayReadUsage ? await credit : []),
    ];
    return { problems: sortProblems(problems).slice(0, MAX_PROBLEMS), total: problems.length };
  };
}
