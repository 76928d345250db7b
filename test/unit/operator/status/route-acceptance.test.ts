import { expect } from 'chai';
import type { Condition } from '../../../../api/kubernetes-types.ts';
import type { KubeObject } from '../../../../kube/object.ts';
import { decideRecheckMs, evaluateHTTPRoute } from '../../../../operator/status/route-acceptance.ts';

const condition = (type: string, status: string, reason = type, observedGeneration = 2) => ({
  type,
  status,
  reason,
  message: `because of ${reason}`,
  observedGeneration,
});
const parent = (conditions: object[], parentRef: object = { name: 'public', namespace: 'gateways' }) => ({
  parentRef,
  controllerName: 'example.com/gateway',
  conditions,
});
const route = (parents: object[] | undefined): KubeObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name: 'chat', namespace: 'team-a', generation: 2 },
  spec: { parentRefs: [{ name: 'public', namespace: 'gateways' }] },
  ...(parents && { status: { parents } }),
});
const good = [condition('Accepted', 'True'), condition('ResolvedRefs', 'True')];

describe('what a Gateway says of an HTTPRoute', () => {
  const table: [title: string, parents: object[] | undefined, status: string, reason: string][] = [
    ['nothing yet', undefined, 'Unknown', 'WaitingForGateway'],
    ['that it takes it', [parent(good)], 'True', 'AcceptedByGateway'],
    [
      'that it takes an older one',
      [parent([condition('Accepted', 'True', 'Accepted', 1)])],
      'Unknown',
      'WaitingForGateway',
    ],
    [
      'something of another Gateway',
      [parent(good, { name: 'other', namespace: 'gateways' })],
      'Unknown',
      'WaitingForGateway',
    ],
    [
      'that its listeners are not for it',
      [parent([condition('Accepted', 'False', 'NotAllowedByListeners')])],
      'False',
      'NotAcceptedByGateway',
    ],
    [
      'that it lacks the Service',
      [parent([condition('Accepted', 'True'), condition('ResolvedRefs', 'False', 'BackendNotFound')])],
      'False',
      'RefsNotResolved',
    ],
    [
      'yes by one controller and no by another',
      [parent([condition('Accepted', 'False', 'NoMatchingParent')]), parent(good)],
      'True',
      'AcceptedByGateway',
    ],
  ];
  for (const [title, parents, status, reason] of table)
    it(`is reported: ${title}`, () => {
      expect(evaluateHTTPRoute(route(parents))).to.include({ status, reason });
    });

  it('is reported in its own words', () => {
    const refused = route([parent([condition('Accepted', 'False', 'NotAllowedByListeners')])]);
    expect(evaluateHTTPRoute(refused).message).to.equal(
      'Gateway gateways/public rejected the HTTPRoute: NotAllowedByListeners: because of NotAllowedByListeners',
    );
  });

  it('is asked for again the more seldom the longer it has not taken it', () => {
    const now = Date.parse('2030-01-01T12:00:00Z');
    const since = (minutes: number, status: Condition['status'] = 'Unknown'): Condition => ({
      ...condition('RouteReady', status),
      status,
      lastTransitionTime: new Date(now - minutes * 60_000).toISOString(),
    });
    const waiting = evaluateHTTPRoute(route(undefined));
    const ask = (routeReady?: Condition) => decideRecheckMs(waiting, routeReady, now);
    expect([ask(), ask(since(0)), ask(since(5)), ask(since(600, 'False'))]).to.deep.equal([
      5_000, 5_000, 30_000, 120_000,
    ]);
    // It was accepted until now.
    expect(ask(since(600, 'True'))).to.equal(5_000);
    expect(decideRecheckMs(evaluateHTTPRoute(route([parent(good)])), since(0), now)).to.equal(120_000);
  });
});
