/** Which deployments' slices list outdated fronts. */
import { isDeepStrictEqual } from 'node:util';
import type { V1EndpointSlice } from '@kubernetes/client-node';
import type { Lane } from '../../kube/due-keys.ts';
import type { Wire } from '../../kube/object.ts';
import { modelKeyOf } from '../framework/cluster-view.ts';
import type { AddressFamily, Fronts } from '../resources/front-slices.ts';

type Endpoints = NonNullable<V1EndpointSlice['endpoints']>;

/** Those first for which the front serves now; where it only stands by, other changes take precedence. */
export function listOutdated(
  slices: readonly Wire<V1EndpointSlice>[],
  fronts: Fronts,
): { key: string; lane: Lane }[] {
  /** By family, for each list of endpoints: many slices share one, an empty one those of both families. */
  const verdicts = new Map<string, Map<Endpoints, boolean>>();
  const isOutdated = ({ addressType, endpoints = [] }: Wire<V1EndpointSlice>) => {
    const known = verdicts.get(addressType) ?? new Map<Endpoints, boolean>();
    verdicts.set(addressType, known);
    if (!known.has(endpoints))
      known.set(endpoints, !isDeepStrictEqual(listFronts(endpoints), fronts[addressType as AddressFamily]));
    return known.get(endpoints)!;
  };
  const outdated = slices.filter(isOutdated).map((slice) => {
    const lane: Lane = isServing(slice.endpoints ?? []) ? 'fast' : 'slow';
    return modelKeyOf(slice).map((key) => ({ key, lane }));
  });
  return outdated.flat().sort((one, other) => Number(one.lane === 'slow') - Number(other.lane === 'slow'));
}

const listFronts = (endpoints: Endpoints) =>
  endpoints
    .flatMap(({ addresses, nodeName }) =>
      addresses.map((address) => (nodeName ? { address, nodeName } : { address })),
    )
    .sort((one, other) => (one.address < other.address ? -1 : 1));

/** An empty slice does not show its role. */
const isServing = (endpoints: Endpoints): boolean =>
  endpoints.length === 0 || endpoints.some(({ conditions }) => conditions?.ready !== false);
