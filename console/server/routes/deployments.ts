/** Deployments, read and changed as the user. */
import type Router from '@koa/router';
import { modelDeployment, modelDeploymentResource } from '../../../api/model-deployment.ts';
import { countQueue } from '../../../redis/console/console-reads.ts';
import type { DeploymentView } from '../../api.ts';
import { deploymentChangeBody, readBody } from '../http/bodies.ts';
import { viewAs } from '../kubernetes/object.ts';
import { type ConsoleState, sessionOf } from '../sessions/request-guards.ts';
import { describeDeployment, isQueued } from '../views/deployment.ts';
import type { Services } from './services.ts';

const { plural } = modelDeploymentResource;

export function addDeploymentRoutes(router: Router<ConsoleState>, services: Services): void {
  const { kubernetes, access, redis, presence } = services;
  const addQueue = async (view: DeploymentView, namespace: string): Promise<DeploymentView> => {
    if (!isQueued(view.kind)) return view;
    const asked = { namespace, deployment: view.name, replicas: view.replicas.wanted };
    return { ...view, queue: await presence.read(() => countQueue(redis, asked), null) };
  };

  router.get('/deployments', async (ctx) => {
    const { namespace = '' } = ctx.params;
    const session = sessionOf(ctx);
    const shown = viewAs(modelDeployment, describeDeployment);
    const views = await kubernetes.list(session.token, { plural, namespace }, shown);
    const maySeeQueue = await access.may(session, namespace, 'readRequests');
    const whole = maySeeQueue ? await Promise.all(views.map((view) => addQueue(view, namespace))) : views;
    ctx.body = whole.sort((a, b) => a.name.localeCompare(b.name));
  });

  router.get('/deployments/:name', async (ctx) => {
    const { namespace = '', name = '' } = ctx.params;
    const session = sessionOf(ctx);
    const object = await kubernetes.get(session.token, { plural, namespace }, name);
    const maySeeQueue = await access.may(session, namespace, 'readRequests');
    const view = describeDeployment(modelDeployment.parse(object));
    ctx.body = maySeeQueue ? await addQueue(view, namespace) : view;
  });

  router.patch('/deployments/:name', async (ctx) => {
    const { namespace = '', name = '' } = ctx.params;
    const spec = await readBody(ctx.req, deploymentChangeBody);
    const object = await kubernetes.patch(sessionOf(ctx), { plural, namespace }, name, { spec });
    ctx.body = describeDeployment(modelDeployment.parse(object));
  });

  router.delete('/deployments/:name', async (ctx) => {
    const { namespace = '', name = '' } = ctx.params;
    await kubernetes.remove(sessionOf(ctx).token, { plural, namespace }, name);
    ctx.status = 204;
  });
}
