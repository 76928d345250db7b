/** Has a ready peer answer what reaches this replica right before it is killed. */
import type { Heartbeat } from '../../api/redis-keys.ts';
import { HELD_HEADER, PASSED_ON_HEADER } from '../capacity/peer-protocol.ts';
import { proxyRequest } from '../front/proxy.ts';
import type { PassOn } from '../http/errors.ts';
import type { Pools } from '../upstream/pools.ts';

export interface PassingOnOptions {
  pools: Pools;
  /** Peers that may receive work, best first. */
  listOpen: () => readonly Heartbeat[];
  self: { pod: string; port: number };
}

/** The peer does all of it, from the check of the key on. Peers that stop as well pass it on to those that remain. */
export function createPassOn({ pools, listOpen, self }: PassingOnOptions): PassOn {
  const picker = {
    rank: (addresses: readonly string[]) => [...addresses],
    enter: () => () => {},
    avoid: () => {},
  };
  // A replica that is about to be killed has no time for it.
  const silence = { watch: () => ({ hear: () => {}, leave: () => {} }) };
  return async (exchange) => {
    const { headers } = exchange.req;
    const passedBy = String(headers[PASSED_ON_HEADER] ?? '').split(',');
    const addresses = listOpen()
      .filter(({ pod }) => !passedBy.includes(pod))
      .map(({ address }) => address);
    const held = headers[HELD_HEADER];
    const outcome = await proxyRequest(
      { pools, picker, silence, replicaPort: self.port },
      {
        exchange,
        addresses,
        ownHeaders: {
          [PASSED_ON_HEADER]: [...passedBy, self.pod].filter(Boolean).join(),
          ...(typeof held === 'string' && { [HELD_HEADER]: held }),
        },
      },
    );
    return outcome === 'answered' || outcome === 'broken';
  };
}
