/** Deployments, read and changed as the user. */
import { modelDeployment, modelDeploymentResource } from '../../../api/model-deployment.ts';
import { countQueue } from '../../../redis/console/console-reads.ts';
import type { DeploymentView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { viewAs } from '../kubernetes/object.ts';
import { describeDeployment, isQueued } from '../views/deployment.ts';
import type { ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const { plural } = modelDeploymentResource;

export function addDeploymentRoutes(serve: ServeRoute, services: Services): void {
  const { kubernetes, access, redis, presence } = services;
  const addQueue = async (view: DeploymentView, namespace: string): Promise<DeploymentView> => {
    if (!isQueued(view.kind)) return view;
    const asked = { namespace, deployment: view.name, replicas: view.replicas.wanted };
    return { ...view, queue: await presence.read(() => countQueue(redis, asked), null) };
  };

  serve(routes.listDeployments, async ({ session, namespace }) => {
    const shown = viewAs(modelDeployment, describeDeployment);
    const views = await kubernetes.list(session.token, { plural, namespace }, shown);
    const maySeeQueue = await access.may(session, namespace, 'readRequests');
    const whole = maySeeQueue ? await Promise.all(views.map((view) => addQueue(view, namespace))) : views;
    return whole.sort((a, b) => a.name.localeCompare(b.name));
  });

  serve(routes.readDeployment, async ({ session, namespace, name }) => {
    const object = await kubernetes.get(session.token, { plural, namespace }, name);
    const maySeeQueue = await access.may(session, namespace, 'readRequests');
    const view = describeDeployment(modelDeployment.parse(object));
    return maySeeQueue ? await addQueue(view, namespace) : view;
  });

  serve(routes.changeDeployment, async ({ session, namespace, name, readBody }) => {
    const spec = await readBody();
    const object = await kubernetes.patch(session, { plural, namespace }, name, { spec });
    return describeDeployment(modelDeployment.parse(object));
  });

  serve(routes.deleteDeployment, async ({ session, namespace, name }) => {
    await kubernetes.remove(session.token, { plural, namespace }, name);
  });
}
