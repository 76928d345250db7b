/** Former specs of a deployment, rollbacks and restarts, as the user. */
import { modelDeployment, modelDeploymentResource } from '../../../api/model-deployment.ts';
import { podSelector } from '../../../api/names.ts';
import { describeRestart } from '../../../api/restart.ts';
import {
  isSameSpec,
  readRevision,
  restoreSpec,
  revisionSelector,
  type Spec,
  type SpecRevision,
  specVersion,
} from '../../../api/spec-revision.ts';
import { BUDGET_CAUSE } from '../../../kube/eviction.ts';
import { routes } from '../../routes.ts';
import { ConsoleError } from '../http/error.ts';
import { KubernetesError } from '../kubernetes/error.ts';
import type { KubeObject } from '../kubernetes/object.ts';
import { replaceObject } from '../kubernetes/replacement.ts';
import { describeDeployment } from '../views/deployment.ts';
import { showHistory } from '../views/history.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const { plural } = modelDeploymentResource;

export function addHistoryRoutes(serve: ServeRoute, { kubernetes, largeAnswers }: Services): void {
  const listRevisions = (token: string, { metadata }: KubeObject): Promise<SpecRevision[]> =>
    kubernetes.list(
      token,
      { plural: 'controllerrevisions', namespace: metadata.namespace! },
      (object) => readRevision(object, metadata.uid!),
      { labelSelector: revisionSelector(metadata.name) },
    );

  serve(routes.readHistory, async ({ ctx, session, namespace, name }) => {
    const object = await kubernetes.get(session.token, { plural, namespace }, name);
    return largeAnswers.answer(ctx.res, namespace, async () =>
      showHistory(object, await listRevisions(session.token, object)),
    );
  });

  serve(routes.rollBack, async ({ session, namespace, name, readBody }) => {
    const { revision, version } = await readBody();
    const change = async (stored: KubeObject): Promise<KubeObject> => {
      const current = stored.spec as Spec;
      if (specVersion(current) !== version)
        throw new ConsoleError(
          'conflict',
          `The spec of ${name} was changed meanwhile. Look at the changes again, then roll back.`,
        );
      const revisions = await listRevisions(session.token, stored);
      const found = revisions.find(({ number }) => number === revision);
      if (!found)
        throw new ConsoleError(
          'not_found',
          `Revision ${revision} of ${name} is not kept anymore. Choose another one.`,
        );
      if (isSameSpec(found.spec, current))
        throw new ConsoleError('conflict', `${name} has the spec of revision ${revision} already.`);
      return { ...stored, spec: restoreSpec(current, found.spec) };
    };
    const place = { plural, namespace };
    const { object } = await replaceObject(kubernetes, session, place, { name, change, dryRun: false });
    return describeDeployment(modelDeployment.parse(object));
  });

  serve(routes.restartDeployment, async ({ session, namespace, name }) => {
    const place = { plural, namespace };
    const { spec } = modelDeployment.parse(await kubernetes.get(session.token, place, name));
    const restart = describeRestart(name, spec, new Date());
    if (restart.refusal !== undefined) throw new ConsoleError('refused', restart.refusal);
    const object = await kubernetes.patch(session, place, name, restart.patch);
    return describeDeployment(modelDeployment.parse(object));
  });

  serve(routes.restartReplica, async ({ session, namespace, name, pod }) => {
    const found = await kubernetes.get(session.token, { plural: 'pods', namespace }, pod);
    const { labels } = found.metadata;
    if (Object.entries(podSelector(name)).some(([label, value]) => labels?.[label] !== value))
      throw new ConsoleError('not_found', `${name} has no replica ${pod}.`);
    await kubernetes.evict(session.token, { namespace }, found).catch((error) => {
      if (!isBudgetSpent(error)) throw error;
      throw new ConsoleError(
        'conflict',
        `${pod} stays: its disruption budget lets no replica go now. Try again once all replicas are ready.`,
      );
    });
  });
}

const isBudgetSpent = (error: unknown): boolean =>
  error instanceof KubernetesError && error.status === 429 && error.causes.includes(BUDGET_CAUSE);
