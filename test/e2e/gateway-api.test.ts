import { expect } from 'chai';
import { RELEASE, RELEASE_NAMESPACE } from '../../launch/release.ts';
import { expectError, postChat } from './envelope.ts';
import {
  apply,
  changeRelease,
  cluster,
  endpoints,
  findEndpoint,
  kubectl,
  patchModel,
  readObject,
  waitForModel,
  waitUntil,
} from './installation.ts';

interface RoutedModel {
  status?: { conditions?: { type: string; status: string; message: string }[] };
}

const GATEWAY = 'shared';
const MODEL = 'tiny-chat';

describe('with the chart’s own Gateway, without any Ingress', function () {
  this.timeout(600_000);
  before(async () => {
    await apply({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: GATEWAY, namespace: RELEASE_NAMESPACE },
      spec: {
        gatewayClassName: 'traefik',
        listeners: [
          { name: 'web', protocol: 'HTTP', port: 80, allowedRoutes: { namespaces: { from: 'All' } } },
        ],
      },
    });
    await changeRelease({
      ingress: { className: '', preset: 'gateway-api', gateway: { name: GATEWAY } },
    });
    await waitUntil(`the HTTPRoute of ${MODEL} to be accepted`, 120, isRouted);
  });

  it('deployments are reached by HTTPRoutes that the Gateway accepts', async () => {
    await waitUntil('no Ingress to be left', 60, async () => (await listRoutes('ingress')).length === 0);
    await waitUntil(
      'the route to serve',
      60,
      async () => (await postChat(findEndpoint(MODEL))).status === 200,
    );
  });

  it('a host that no deployment owns gets the 404 envelope from the front', async () => {
    const route = await readObject<{ spec: { hostnames: string[] } }>(
      'HTTPRoute',
      `${RELEASE}-catch-all`,
      RELEASE_NAMESPACE,
    );
    expect(route.spec.hostnames).to.deep.equal([`*.${cluster.domain}`]);
    const { apiKey } = findEndpoint(MODEL);
    expectError(await postChat({ baseURL: endpoints.unknownURL, apiKey }), 404, 'not_found');
  });

  it('a deployment without replicas answers 503 in the envelope, on the route that was there', async () => {
    try {
      await patchModel(MODEL, { replicas: 0 });
      // The answer that is evaluated is the first refusal: the last replica may still serve the next request.
      await waitUntil('503', 60, async () => {
        const answer = await postChat(findEndpoint(MODEL));
        if (answer.status === 503) expectError(answer, 503, 'no_pod_available');
        return answer.status === 503;
      });
    } finally {
      await patchModel(MODEL, { replicas: null });
      await waitForModel(MODEL);
    }
  });
});

/** Names of the routes of one type in the default workspace. */
async function listRoutes(kind: 'ingress' | 'httproute'): Promise<string[]> {
  const names = await kubectl('get', kind, '-n', 'default', '-o', 'name');
  return names.split('\n').flatMap((name) => name.split('/')[1] ?? []);
}

async function isRouted(): Promise<boolean> {
  const { status } = await readObject<RoutedModel>('ModelDeployment', MODEL);
  const isReady = status?.conditions?.some(({ type, status }) => type === 'RouteReady' && status === 'True');
  return (isReady ?? false) && (await listRoutes('httproute')).includes(MODEL);
}
