/** Deployments, read as the user. */
import type Router from '@koa/router';
import {
  type ModelDeployment,
  modelDeployment,
  modelDeploymentResource,
} from '../../../api/model-deployment.ts';
import { countQueue } from '../../../redis/console/console-reads.ts';
import type { DeploymentView } from '../../api.ts';
import { parseObjects } from '../kubernetes/client.ts';
import { type ConsoleState, sessionOf } from '../sessions/request-state.ts';
import { describeDeployment, isQueued } from '../views/deployment.ts';
import type { Services } from './services.ts';

const { plural } = modelDeploymentResource;

export function addDeploymentRoutes(router: Router<ConsoleState>, services: Services): void {
  const { kubernetes, access, redis, presence } = services;
  const describe = async (deployment: ModelDeployment, maySeeQueue: boolean): Promise<DeploymentView> => {
    const { namespace, name } = deployment.metadata;
    const count = () => countQueue(redis, namespace, name);
    const queue = maySeeQueue && isQueued(deployment) ? await presence.read(count, null) : null;
    return describeDeployment(deployment, queue);
  };

  router.get('/deployments', async (ctx) => {
    const { namespace = '' } = ctx.params;
    const session = sessionOf(ctx);
    const objects = await kubernetes.list(session.token, { plural, namespace });
    const maySeeQueue = await access.may(session, namespace, 'readRequests');
    const views = parseObjects(modelDeployment, objects).map((each) => describe(each, maySeeQueue));
    ctx.body = (await Promise.all(views)).sort((a, b) => a.name.localeCompare(b.name));
  });

  router.get('/deployments/:name', async (ctx) => {
    const { namespace = '', name = '' } = ctx.params;
    const session = sessionOf(ctx);
    const object = await kubernetes.get(session.token, { plural, namespace }, name);
    const maySeeQueue = await access.may(session, namespace, 'readRequests');
    ctx.body = await describe(modelDeployment.parse(object), maySeeQueue);
  });
}
