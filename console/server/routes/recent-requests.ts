/** The latest requests of every kind, streamed or not, across deployments. */
import { z } from 'zod';
import { readDeploymentNames } from '../../../redis/console/console-reads.ts';
import { type RecentRequest, readRecentRequests } from '../../../redis/requests/recent-requests.ts';
import type { RecentRequestView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { check } from '../http/bodies.ts';
import { describeSubmitter } from '../views/request.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const MAX_SHOWN = 300;
const query = z.object({ deployment: z.string().max(63).optional() });

export function addRecentRequestRoutes(serve: ServeRoute, { access, redis, largeAnswers }: Services): void {
  serve(routes.listRecentRequests, async ({ ctx, session, namespace }) => {
    const asked = check(ctx.query, query);
    await access.require(session, namespace, 'readRequests');
    return largeAnswers.answer(ctx.res, namespace, async () => {
      const names = asked.deployment ? [asked.deployment] : await readDeploymentNames(redis, namespace);
      let latest: OwnedRequest[] = [];
      // Sequentially: what one deployment has may be large.
      for (const deployment of names) {
        const requests = await readRecentRequests(redis, { namespace, deployment });
        const oldest = latest.length < MAX_SHOWN ? 0 : latest.at(-1)!.endedAt;
        const newer = requests.filter(({ endedAt }) => endedAt > oldest);
        if (newer.length === 0) continue;
        latest = [...latest, ...newer.map((request) => ({ ...request, deployment }))]
          .sort((a, b) => b.endedAt - a.endedAt)
          .slice(0, MAX_SHOWN);
      }
      return latest.map(describe);
    });
  });
}

type OwnedRequest = RecentRequest & { deployment: string };

const describe = ({ endedAt, keyName, ...request }: OwnedRequest): RecentRequestView => ({
  ...request,
  endedAt: new Date(endedAt).toISOString(),
  submitter: describeSubmitter(keyName),
});
