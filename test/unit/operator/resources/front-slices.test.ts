import type { V1EndpointSlice, V1Service } from '@kubernetes/client-node';
import { expect } from 'chai';
import type { Wire } from '../../../../kube/object.ts';
import {
  buildFrontSlices,
  collectFronts,
  evaluateFront,
  readySince,
  type Standing,
} from '../../../../operator/resources/front-slices.ts';
import { countRollingAway } from '../../../../operator/resources/rolling.ts';

const NOW = 1_000_000;

describe('the front in place of the pods', () => {
  const standing = (change: Partial<Standing>): Standing => ({
    readySince: [0],
    desiredReplicas: 1,
    deleting: false,
    rollingAway: 0,
    now: NOW,
    ...change,
  });
  const table: [name: string, change: Partial<Standing>, needed: boolean, recheckAfterMs?: number][] = [
    ['is out while a pod is ready', {}, false],
    ['is in while none is', { readySince: [] }, true],
    ['is in before a pause or a scale to zero', { desiredReplicas: 0 }, true],
    ['is in before a deletion', { deleting: true }, true],
    ['is in before a rollout takes the last ready pod', { rollingAway: 1 }, true],
    ['is out during a rollout that leaves another ready', { readySince: [0, 0], rollingAway: 1 }, false],
    [
      'stays in until proxies know of a pod that has just become ready',
      { readySince: [NOW - 500] },
      true,
      1_500,
    ],
    ['waits no longer than that for a clock that is ahead', { readySince: [NOW + 60_000] }, true, 2_000],
    ['goes by the pod that is ready the longest', { readySince: [NOW - 10, NOW - 5_000] }, false],
  ];
  for (const [name, change, needed, recheckAfterMs] of table) {
    it(name, () => {
      const verdict = evaluateFront(standing(change));
      expect(verdict).to.deep.equal(recheckAfterMs === undefined ? { needed } : { needed, recheckAfterMs });
    });
  }

  it('does not count a pod that is leaving as ready', () => {
    const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '1970-01-01T00:00:01Z' }];
    expect(readySince({ status: { conditions } })).to.equal(1_000);
    expect(readySince({ metadata: { deletionTimestamp: 'x' }, status: { conditions } })).to.equal(undefined);
    expect(readySince({ status: { conditions: [{ type: 'Ready', status: 'False' }] } })).to.equal(undefined);
  });
});

describe('a rollout', () => {
  const deployment = (change: {
    inputs?: string;
    rolledAt?: string;
    generation?: number;
    status?: object;
    maxUnavailable?: number;
  }) =>
    ({
      metadata: {
        name: 'a',
        generation: change.generation ?? 1,
        annotations: {
          'berth.dev/template-inputs': change.inputs ?? 'x',
          ...(change.rolledAt && { 'berth.dev/sidecar-rolled-at': change.rolledAt }),
        },
      },
      spec: { replicas: 2, strategy: { rollingUpdate: { maxUnavailable: change.maxUnavailable ?? 1 } } },
      status: { observedGeneration: 1, replicas: 2, updatedReplicas: 2, ...change.status },
    }) as unknown as Parameters<typeof countRollingAway>[0];
  const table: [name: string, live: object, wanted: object, away: number][] = [
    ['that is none takes no pod', {}, {}, 0],
    ['that begins takes as many as may be unavailable', {}, { inputs: 'y' }, 1],
    ['of a sidecar that begins counts', {}, { rolledAt: '2026-03-04T12:00:00Z' }, 1],
    [
      'of a sidecar that is over takes no pod',
      { rolledAt: '2026-03-04T12:00:00Z' },
      { rolledAt: '2026-03-04T12:00:00Z' },
      0,
    ],
    ['that nobody has seen yet counts', { generation: 2 }, {}, 1],
    ['under way counts', { status: { updatedReplicas: 1 } }, {}, 1],
    ['that starts new pods first takes none', {}, { inputs: 'y', maxUnavailable: 0 }, 0],
  ];
  for (const [name, live, wanted, away] of table) {
    it(name, () => {
      expect(countRollingAway(deployment(live), deployment(wanted))).to.equal(away);
    });
  }

  it('of a Deployment that is not there takes nothing', () => {
    expect(countRollingAway(undefined, deployment({}))).to.equal(0);
  });
});

describe("the front's slices", () => {
  const slice = (addressType: string, endpoints: object[]) =>
    ({ addressType, endpoints }) as unknown as Wire<V1EndpointSlice>;
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'chat', namespace: 'team-a', uid: 'u' },
    spec: { ipFamilies: ['IPv4', 'IPv6'], ports: [{ name: 'http', port: 80 }] },
  } as Wire<V1Service>;

  it('hold ready fronts that stay, each once and in order', () => {
    const fronts = collectFronts([
      slice('IPv4', [
        { addresses: ['10.0.0.3'], conditions: { ready: true }, nodeName: 'n' },
        { addresses: ['10.0.0.1'] },
        { addresses: ['10.0.0.9'], conditions: { ready: false } },
        { addresses: ['10.0.0.8'], conditions: { ready: true, terminating: true } },
      ]),
      slice('IPv4', [{ addresses: ['10.0.0.1'], conditions: {} }]),
      slice('IPv6', [{ addresses: ['fd00::1'] }]),
    ]);
    expect(fronts.IPv4).to.deep.equal([{ address: '10.0.0.1' }, { address: '10.0.0.3', nodeName: 'n' }]);
    expect(fronts.IPv6).to.deep.equal([{ address: 'fd00::1' }]);
  });

  it('hold fronts that are not ready where none is, but none that leaves', () => {
    const fronts = collectFronts([
      slice('IPv4', [
        { addresses: ['10.0.0.1'], conditions: { ready: false } },
        { addresses: ['10.0.0.2'], conditions: { ready: false, terminating: true } },
      ]),
    ]);
    expect(fronts.IPv4).to.deep.equal([{ address: '10.0.0.1' }]);
  });

  it('are one for each address family of the Service, with its port name', () => {
    const fronts = { IPv4: [{ address: '10.0.0.1' }], IPv6: [] };
    const slices = buildFrontSlices('chat', service, fronts, 'Serving');
    expect(slices.map(({ metadata, addressType }) => [metadata.name, addressType])).to.deep.equal([
      ['chat-front', 'IPv4'],
      ['chat-front-ipv6', 'IPv6'],
    ]);
    expect(slices[0]).to.deep.include({
      endpoints: [
        { addresses: ['10.0.0.1'], conditions: { ready: true, serving: true, terminating: false } },
      ],
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    });
    expect(slices[0]!.metadata.labels).to.include({
      'kubernetes.io/service-name': 'chat',
      'endpointslice.kubernetes.io/managed-by': 'berth',
    });
  });

  it('stand by as endpoints that proxies use exactly while no other is ready', () => {
    const fronts = { IPv4: [{ address: '10.0.0.1', nodeName: 'n' }], IPv6: [] };
    const [slice] = buildFrontSlices('chat', service, fronts, 'Standby');
    expect(slice!.endpoints).to.deep.equal([
      {
        addresses: ['10.0.0.1'],
        conditions: { ready: false, serving: true, terminating: true },
        nodeName: 'n',
      },
    ]);
  });
});
