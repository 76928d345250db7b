import { createServer, type Server } from 'node:http';
import { expect } from 'chai';
import { AdapterLoader, type WantedAdapter } from '../../../../gateway/sidecar/adapter-loader.ts';
import { listen } from '../../../../kit/http-server.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { pollUntil } from '../../../support/poll.ts';
import { openUndici } from '../../../support/undici-pool.ts';

const warnings: unknown[] = [];
const log = { info: () => {}, warn: (...words: unknown[]) => void warnings.push(words) };

describe('the loader of adapters', () => {
  let server: Server;
  let pool: ReturnType<typeof openUndici>;
  let clock: FakeClock;
  let loader: AdapterLoader;
  /** In the engine. */
  let present: Set<string>;
  let loads: string[];
  let unloads: string[];
  let wanted: WantedAdapter[];
  let isReady: boolean;
  /** Names that the engine refuses, or holds back until it is let go. */
  let refused: Set<string>;
  let held: Map<string, () => void>;

  const want = (...engineNames: string[]) => {
    wanted = engineNames.map((engineName) => ({
      name: engineName.split('-')[0]!,
      engineName,
      path: `/${engineName}`,
    }));
  };
  const untilLoaded = (engineName: string) =>
    pollUntil(() => loader.isLoaded(engineName), `${engineName} loaded`);
  /** The next check, and what follows from it. */
  const check = async (ms = 5_000) => {
    await clock.advance(ms);
    await loader.sync();
  };

  beforeEach(async () => {
    [present, refused, held, loads, unloads, isReady] = [new Set(), new Set(), new Map(), [], [], true];
    server = createServer((req, res) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => {
        if (req.url === '/v1/models') {
          const data = [{ id: 'base', parent: null }, ...[...present].map((id) => ({ id, parent: 'base' }))];
          res.end(JSON.stringify({ data }));
          return;
        }
        const name = (JSON.parse(Buffer.concat(chunks).toString()) as { lora_name: string }).lora_name;
        if (req.url === '/v1/unload_lora_adapter') {
          unloads.push(name);
          if (refused.has(name)) res.writeHead(500);
          else present.delete(name);
          res.end();
          return;
        }
        loads.push(name);
        const answer = () => {
          if (refused.has(name)) {
            res.writeHead(400).end(JSON.stringify({ error: { message: 'too large' } }));
            return;
          }
          present.add(name);
          res.end('Success');
        };
        if (held.has(name)) held.set(name, answer);
        else answer();
      });
    });
    const port = await listen(server, 0, '127.0.0.1');
    pool = openUndici(`http://127.0.0.1:${port}`);
    clock = new FakeClock();
    want('sql-one');
    loader = new AdapterLoader({
      pool: () => pool,
      isEngineReady: () => isReady,
      list: () => wanted,
      onChange: () => {},
      log,
      clock,
    });
  });
  afterEach(async () => {
    loader.stop();
    await pool.destroy();
    server.close();
    server.closeAllConnections();
  });

  it('has an earlier source asked for until the new one is loaded, and keeps it for requests on their way', async () => {
    await loader.sync();
    await untilLoaded('sql-one');
    want('sql-two');
    held.set('sql-two', () => {});
    await loader.sync();
    expect(loader.loadedNameOf('sql', 'sql-two')).to.equal('sql-one');
    await pollUntil(() => loads.includes('sql-two'), 'asked for');
    held.get('sql-two')!();
    await untilLoaded('sql-two');
    expect(loader.loadedNameOf('sql', 'sql-two')).to.equal('sql-two');
    await check(300_000);
    expect([...present]).to.have.members(['sql-one', 'sql-two']);
    await check(600_000);
    await pollUntil(() => !present.has('sql-one'), 'unloaded');
    expect(present.has('sql-two')).to.equal(true);
  });

  it('keeps serving an earlier source where the new one is refused', async () => {
    await loader.sync();
    await untilLoaded('sql-one');
    want('sql-two');
    refused.add('sql-two');
    await loader.sync();
    await pollUntil(() => loader.failureOf('sql-two') === 'too large', 'refused');
    expect(loader.loadedNameOf('sql', 'sql-two')).to.equal('sql-one');
    // For as long as it takes.
    for (let checks = 0; checks < 3; checks++) await check(600_000);
    expect([...present]).to.deep.equal(['sql-one']);
    expect(loader.loadedNameOf('sql', 'sql-two')).to.equal('sql-one');
  });

  it('unloads one that was removed, once, and says nothing of a loss', async () => {
    await loader.sync();
    await untilLoaded('sql-one');
    want();
    warnings.length = 0;
    for (let checks = 0; checks < 2; checks++) await check(600_000);
    await pollUntil(() => !present.has('sql-one'), 'unloaded');
    await check();
    expect(loader.isLoaded('sql-one')).to.equal(false);
    expect({ unloads, warnings }).to.deep.equal({ unloads: ['sql-one'], warnings: [] });
  });

  it('tries again later where the engine does not unload one', async () => {
    await loader.sync();
    await untilLoaded('sql-one');
    want();
    refused.add('sql-one');
    await check();
    await check(600_000);
    await pollUntil(() => unloads.length === 1, 'asked for');
    expect(loader.isLoaded('sql-one')).to.equal(true);
    refused.clear();
    await check(600_000);
    await pollUntil(() => !present.has('sql-one'), 'unloaded');
    expect(unloads).to.have.length(2);
  });

  it('asks less and less often for one that is refused, and for others at the same time', async () => {
    want('sql-one', 'law-one');
    refused.add('sql-one');
    held.set('sql-one', () => {});
    await loader.sync();
    await untilLoaded('law-one');
    held.get('sql-one')!();
    held.delete('sql-one');
    await pollUntil(() => loader.failureOf('sql-one') !== undefined, 'refused');
    for (let checks = 0; checks < 24; checks++) await check();
    // After 5, 15, 35 and 75 s, or a little later.
    expect(loads.filter((name) => name === 'sql-one').length).to.be.within(3, 5);
  });

  it('asks less and less often for one with which the engine ends, so that it serves others', async () => {
    held.set('sql-one', () => {});
    let ends = 0;
    for (let start = 0; start < 20; start++) {
      loader.start();
      await loader.sync();
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (loads.length > ends) {
        ends = loads.length;
        loader.forget();
      }
      clock.elapse(60_000);
    }
    expect(ends).to.be.within(5, 10);
    expect(loader.failureOf('sql-one')).to.include('the engine ended');
    // No pod waits for it.
    loader.start();
    expect(loader.isStarting).to.equal(false);
    present.add('sql-one');
    await loader.sync();
    expect(loader.failureOf('sql-one')).to.equal(undefined);
  });

  it('has the pod wait for the first attempt of each after a start, for a minute at most, and never for one that is added', async () => {
    want('sql-one', 'law-one');
    refused.add('law-one');
    held.set('sql-one', () => {});
    loader.start();
    expect(loader.isStarting).to.equal(true);
    await pollUntil(() => loader.failureOf('law-one') !== undefined, 'one is refused');
    expect(loader.isStarting).to.equal(true);
    held.get('sql-one')!();
    await untilLoaded('sql-one');
    expect(loader.isStarting).to.equal(false);
    want('sql-one', 'law-one', 'late-one');
    expect(loader.isStarting).to.equal(false);

    loader.forget();
    loader.start();
    expect(loader.isStarting).to.equal(true);
    clock.elapse(60_000);
    expect(loader.isStarting).to.equal(false);
  });

  it('loads again what an engine lost unnoticed, and waits for nothing while the engine is away', async () => {
    await loader.sync();
    await untilLoaded('sql-one');
    present.clear();
    await loader.sync();
    await pollUntil(() => present.has('sql-one'), 'loaded again');
    await untilLoaded('sql-one');
    isReady = false;
    loader.forget();
    expect(loader.isLoaded('sql-one')).to.equal(false);
    expect(loader.loadedNameOf('sql', 'sql-one')).to.equal(undefined);
  });

  it('knows an earlier source again in an engine that had not ended', async () => {
    await loader.sync();
    await untilLoaded('sql-one');
    want('sql-two');
    refused.add('sql-two');
    loader.forget();
    expect(loader.loadedNameOf('sql', 'sql-two')).to.equal(undefined);
    await loader.sync();
    expect(loader.loadedNameOf('sql', 'sql-two')).to.equal('sql-one');
  });
});
