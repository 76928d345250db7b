import { expect } from 'chai';
import type { GatewayConfig } from '../../../../api/gateway-config.ts';
import type { Heartbeat } from '../../../../api/redis-keys.ts';
import { Entry } from '../../../../gateway/sidecar/adapters.ts';

describe('the name by which engines are asked for an adapter', () => {
  /** What the engine here has. */
  let loaded: string | undefined;
  let entry: Entry;
  const nameAsked = () => entry.config().servedModelName;
  const notePeers = (...peers: Partial<Heartbeat>[]) =>
    entry.notePeers(peers.map((peer) => ({ ready: true, draining: false, ...peer }) as Heartbeat));

  beforeEach(() => {
    loaded = undefined;
    entry = new Entry({ name: 'sql', servedModelName: 'sql-two' } as GatewayConfig, {
      loadedNameOf: () => loaded,
      isLoaded: (name) => name === loaded,
      failureOf: () => undefined,
    });
  });

  it('is that of the engine here, which may have an earlier source', () => {
    loaded = 'sql-one';
    notePeers({ adapter: 'sql-two' });
    expect(nameAsked()).to.equal('sql-one');
  });

  it('is that of the current source where the engine here has none and a peer has it: its engine was killed during a change', () => {
    loaded = 'sql-one';
    expect(nameAsked()).to.equal('sql-one');
    loaded = undefined;
    notePeers({ adapter: 'sql-one' }, { adapter: 'sql-one' }, { adapter: 'sql-two' });
    expect(nameAsked()).to.equal('sql-two');
    expect(entry.isLoaded()).to.equal(false);
  });

  it('is that of an earlier source while only that is served: the current one was refused', () => {
    notePeers({ adapter: 'sql-zero' }, { adapter: 'sql-one' }, { adapter: 'sql-one' });
    expect(nameAsked()).to.equal('sql-one');
    notePeers({ adapter: 'sql-one', ready: false }, { adapter: 'sql-one', draining: true }, {});
    expect(nameAsked()).to.equal('sql-two');
  });
});
