import type { V1EndpointSlice } from '@kubernetes/client-node';
import { expect } from 'chai';
import type { Wire } from '../../../../kube/object.ts';
import { trimSlice } from '../../../../operator/framework/cluster-view.ts';
import { listOutdated } from '../../../../operator/model/outdated-slices.ts';
import { buildFrontSlices, type FrontRole } from '../../../../operator/resources/front-slices.ts';

const fronts = (...addresses: string[]) => ({
  IPv4: addresses.map((address) => ({ address, nodeName: `node-of-${address}` })),
  IPv6: [],
});

/** As the watch caches it. */
function sliceOf(name: string, role: FrontRole, ...addresses: string[]): Wire<V1EndpointSlice> {
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'team-a' } };
  const [slice] = buildFrontSlices(name, service, fronts(...addresses), role);
  return trimSlice(structuredClone(slice) as Wire<V1EndpointSlice>);
}

describe('Slices of the front in deployments', () => {
  it('are due when the fronts have changed: at once where the front serves, else behind all changes', () => {
    const slices = [
      sliceOf('standing-by', 'Standby', '10.0.0.1'),
      sliceOf('served', 'Serving', '10.0.0.1'),
      sliceOf('standing-by-too', 'Standby', '10.0.0.1'),
    ];
    expect(listOutdated(slices, fronts('10.0.0.1', '10.0.0.2'))).to.deep.equal([
      { key: 'team-a/served', lane: 'fast' },
      { key: 'team-a/standing-by', lane: 'slow' },
      { key: 'team-a/standing-by-too', lane: 'slow' },
    ]);
  });

  it('are left alone when they lead to these fronts already, in whatever order', () => {
    const slices = [
      sliceOf('current', 'Standby', '10.0.0.2', '10.0.0.1'),
      sliceOf('behind', 'Standby', '10.0.0.1'),
    ];
    expect(listOutdated(slices, fronts('10.0.0.1', '10.0.0.2'))).to.deep.equal([
      { key: 'team-a/behind', lane: 'slow' },
    ]);
  });

  it('are due at once where they lead nowhere, as the API server writes that too', () => {
    const empty = sliceOf('empty', 'Standby');
    const written = { ...empty, endpoints: null } as unknown as Wire<V1EndpointSlice>;
    for (const slice of [empty, trimSlice(written)])
      expect(listOutdated([slice], fronts('10.0.0.1'))).to.deep.equal([
        { key: 'team-a/empty', lane: 'fast' },
      ]);
  });

  it('are judged by the fronts of their own address family, where none has an endpoint', () => {
    const ipv6 = trimSlice({ ...sliceOf('chat', 'Standby'), addressType: 'IPv6' });
    const ipv4 = sliceOf('chat', 'Standby');
    expect(ipv6.endpoints).to.equal(ipv4.endpoints);
    const due = [{ key: 'team-a/chat', lane: 'fast' }];
    expect(listOutdated([ipv6, ipv4], fronts('10.0.0.1'))).to.deep.equal(due);
    expect(listOutdated([ipv4, ipv6], fronts('10.0.0.1'))).to.deep.equal(due);
  });

  it('share one list of endpoints in memory', () => {
    const [one, two] = [sliceOf('one', 'Standby', '10.0.0.1'), sliceOf('two', 'Standby', '10.0.0.1')];
    expect(one.endpoints).to.equal(two.endpoints);
  });
});
