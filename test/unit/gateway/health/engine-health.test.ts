import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { expect } from 'chai';
import type { Dispatcher } from 'undici';
import { ADMIN_PATHS } from '../../../../api/gateway-environment.ts';
import type { CanaryResult } from '../../../../gateway/health/canary.ts';
import { EngineHealth, type EngineHealthTiming } from '../../../../gateway/health/engine-health.ts';
import type { EngineBounds, EngineVerdict } from '../../../../gateway/health/engine-verdict.ts';
import { buildSidecarRoutes } from '../../../../gateway/sidecar/admin-routes.ts';
import type { Drain } from '../../../../gateway/sidecar/drain.ts';
import type { AdminRoutes } from '../../../../kit/admin-server.ts';
import { closeServer, listen, readServerPort } from '../../../../kit/http-server.ts';
import { Http1Client } from '../../../../kit/http1-client.ts';
import { pollUntil } from '../../../support/poll.ts';

const TIMING: EngineHealthTiming = {
  startingMs: 5,
  failingMs: 5,
  healthyMs: 20,
  timeoutMs: 50,
  evaluateMs: 5,
  tryMs: 20,
  quietMs: 60_000,
};
const BOUNDS: Partial<EngineBounds> = { silentMs: 400, lostMs: 800, hangingAfterMs: 50, flowingMs: 200 };

describe('the engine’s health', () => {
  let status: number | 'hang';
  let serve: (res: ServerResponse) => void;
  let server: Server;
  let health: EngineHealth;
  let client: Http1Client;
  let pool: Dispatcher;
  let stalledMs: number;
  let port = 0;
  const told: EngineVerdict[] = [];

  const startEngine = async () => {
    server = createServer((req, res) => {
      if (req.url !== '/health') serve(res);
      else if (status !== 'hang') res.writeHead(status).end();
    });
    await listen(server, port, '127.0.0.1');
    port = readServerPort(server);
  };
  const stopEngine = async () => {
    server.closeAllConnections();
    await closeServer(server, 0);
  };
  beforeEach(async () => {
    status = 503;
    port = 0;
    stalledMs = 60_000;
    told.length = 0;
    await startEngine();
    health = new EngineHealth({
      engineURL: `http://127.0.0.1:${port}`,
      path: '/health',
      stalledMs: () => stalledMs,
      timing: TIMING,
      bounds: BOUNDS,
      onChange: (now) => told.push(now),
    });
    client = new Http1Client(`http://127.0.0.1:${port}`);
    pool = health.watch(client);
  });
  afterEach(async () => {
    health.stop();
    await client.destroy();
    await stopEngine();
  });

  describe('while the engine starts', () => {
    let routes: AdminRoutes;
    let isHeld: boolean;
    beforeEach(() => {
      isHeld = false;
      routes = buildSidecarRoutes({
        health,
        isReady: () => health.isReady && !isHeld,
        drain: { begin: () => Promise.resolve('') } as unknown as Drain,
        drainToken: 'token',
        onWrongToken: () => {},
      });
    });
    const ask = (path: string) => Promise.resolve(routes[path]!({} as IncomingMessage));

    for (const path of [ADMIN_PATHS.readyz, ADMIN_PATHS.engineStartup])
      it(`leaves the kubelet's question at ${path} open until it is healthy`, async () => {
        const answer = ask(path);
        let isAnswered = false;
        void answer.then(() => {
          isAnswered = true;
        });
        await pollUntil(() => told.length === 0 && health.verdict.reason.includes('503'), 'a probe');
        expect(isAnswered).to.equal(false);
        status = 200;
        expect((await answer).status).to.equal(200);
      });

    it('is ready itself while the kubelet asks for the start, so that only one answer changes with it', async () => {
      const early = ask(ADMIN_PATHS.readyz);
      const start = ask(ADMIN_PATHS.engineStartup);
      expect((await early).status).to.equal(200);
      expect((await ask(ADMIN_PATHS.readyz)).status).to.equal(200);
      status = 200;
      expect((await start).status).to.equal(200);
      expect((await ask(ADMIN_PATHS.readyz)).status).to.equal(200);
      status = 503;
      await pollUntil(() => health.verdict.phase === 'unhealthy', 'unhealthy');
      expect((await ask(ADMIN_PATHS.readyz)).status).to.equal(503);
    });

    it('is not ready, and not started, while its adapters are being loaded', async () => {
      isHeld = true;
      status = 200;
      await health.waitForStart(5_000);
      for (const path of [ADMIN_PATHS.readyz, ADMIN_PATHS.engineStartup])
        expect((await ask(path)).status).to.equal(503);
      isHeld = false;
      expect((await ask(ADMIN_PATHS.engineStartup)).status).to.equal(200);
    });

    it('answers before the next question is due', async () => {
      const { status: answered, body } = await ask(ADMIN_PATHS.readyz);
      expect(answered).to.equal(503);
      expect(body).to.include('the engine is starting');
    });

    it('answers at once where it stops, or has served before', async () => {
      const waiting = health.waitForStart(60_000);
      await becomeHealthy();
      await waiting;
      status = 503;
      await pollUntil(() => health.verdict.phase === 'unhealthy', 'unhealthy');
      await health.waitForStart(60_000);
    });
  });

  const lastReason = () => told.at(-1)?.reason;
  const becomeHealthy = async () => {
    status = 200;
    await pollUntil(() => health.verdict.phase === 'healthy', 'healthy');
  };
  /** A request whose response is ignored. */
  const ask = (path = '/v1/chat/completions') => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const controller = new AbortController();
    pool
      .request({ path, method: 'POST', body: '{}', signal: controller.signal })
      .then(({ body }) => body.on('data', () => {}).on('error', () => {}))
      .catch(() => {})
      .finally(resolve);
    return { answered: promise, giveUp: () => controller.abort() };
  };

  it('follows an engine that starts, fails and recovers', async () => {
    await new Promise((resolve) => server.once('request', resolve));
    expect(health.isReady).to.equal(false);
    expect(health.verdict.phase).to.equal('starting');
    await becomeHealthy();
    status = 500;
    await pollUntil(() => !health.isReady, 'unhealthy');
    expect(lastReason()).to.match(/returned 500/);
    await becomeHealthy();
  });

  it('takes one that answers its probes late for busy, and for hanging only after long', async () => {
    await becomeHealthy();
    status = 'hang';
    await pollUntil(() => health.verdict.phase === 'busy', 'busy');
    expect(health.isReady).to.equal(true);
    await pollUntil(() => !health.isReady, 'unhealthy');
    expect(lastReason()).to.match(/no response for/);
    expect(health.isAlive).to.equal(false);
    expect(health.isLost).to.equal(false);
    await pollUntil(() => health.isLost, 'lost');
    expect(told.map(({ phase }) => phase)).to.deep.equal(['healthy', 'busy', 'unhealthy']);
  });

  it('keeps one ready as long as output comes, whatever its probes do', async () => {
    let writing: NodeJS.Timeout | undefined;
    serve = (res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      writing = setInterval(() => res.write('data: {}\n\n'), 10);
    };
    await becomeHealthy();
    ask();
    status = 'hang';
    const begun = performance.now();
    await pollUntil(() => {
      expect(health.isReady).to.equal(true);
      return performance.now() - begun > 3 * BOUNDS.silentMs!;
    }, 'a long time');
    clearInterval(writing);
    await pollUntil(() => !health.isReady, 'unhealthy');
  });

  it('notices a refused connection immediately when asked to check', async () => {
    await becomeHealthy();
    await stopEngine();
    health.suspect();
    await pollUntil(() => !health.isReady, 'unhealthy');
    expect(lastReason()).to.equal('connection refused');
    expect(health.isLost).to.equal(true);
    await startEngine();
    await pollUntil(() => health.isReady, 'healthy again');
    expect(health.isAlive).to.equal(true);
  });

  it('reaches a verdict although checks are requested all the time', async () => {
    const slow = createServer((_, res) => void setTimeout(() => res.writeHead(200).end(), 700));
    await listen(slow, 0, '127.0.0.1');
    const engineURL = `http://127.0.0.1:${readServerPort(slow)}`;
    const timing = { ...TIMING, timeoutMs: 10_000 };
    const doubted = new EngineHealth({ engineURL, path: '/health', stalledMs: () => stalledMs, timing });
    const doubting = setInterval(() => doubted.suspect(), 50);
    try {
      await pollUntil(() => doubted.isReady, 'healthy');
    } finally {
      clearInterval(doubting);
      doubted.stop();
      slow.closeAllConnections();
      await closeServer(slow, 0);
    }
  });

  it('notices a refused request at once', async () => {
    await becomeHealthy();
    health.clock.stop();
    await stopEngine();
    await ask().answered;
    expect(health.isReady).to.equal(false);
  });

  it('detects a hang by requests that wait in vain, although the health check answers 200', async () => {
    serve = (res) => res.writeHead(200).flushHeaders();
    stalledMs = 150;
    await becomeHealthy();
    for (let index = 0; index < 3; index++) ask();
    await pollUntil(() => !health.isReady, 'unhealthy');
    expect(lastReason()).to.match(/3 requests waited .* without any output/);
    expect(health.isAlive).to.equal(false);
  });

  it('does not take comments in a stream for output', async () => {
    let pings = 0;
    serve = (res) => {
      res.writeHead(200);
      const timer = setInterval(() => res.write(`: ping ${++pings}\n\n`), 10);
      res.on('close', () => clearInterval(timer));
    };
    stalledMs = 150;
    await becomeHealthy();
    for (let index = 0; index < 3; index++) ask();
    await pollUntil(() => !health.isReady, 'unhealthy');
    expect(pings).to.be.greaterThan(5);
  });

  it('judges a submitted job only by the reports of its run', async () => {
    serve = (res) => res.writeHead(200).end('{"id":"v1","status":"queued"}');
    stalledMs = 150;
    await becomeHealthy();
    const runs = [1, 2, 3].map(() => health.begin({ isHeld: false }));
    await Promise.all([1, 2, 3].map(() => ask('/v1/videos').answered));
    await pollUntil(() => !health.isReady, 'unhealthy');
    runs[0]!.progress();
    expect(health.isReady).to.equal(true);
  });

  it('tells that work waits without output, and not that nothing waits', async () => {
    let count = 0;
    const engineURL = `http://127.0.0.1:${port}`;
    const quiet = new EngineHealth({
      engineURL,
      path: '/health',
      stalledMs: () => stalledMs,
      timing: { ...TIMING, quietMs: 30 },
      onQuiet: () => count++,
    });
    status = 200;
    await pollUntil(() => quiet.isReady, 'healthy');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(count).to.equal(0);
    serve = () => {};
    const leaving = new AbortController();
    const asked = quiet
      .watch(client)
      .request({ path: '/v1/x', method: 'POST', body: '{}', signal: leaving.signal })
      .catch(() => {});
    await pollUntil(() => count > 1, 'notices');
    leaving.abort();
    await asked;
    quiet.stop();
  });

  describe('and a request of the gateway’s own', () => {
    let tried: CanaryResult;
    let trials: number;
    let began: number[];
    let takesMs: number;
    let watched: Dispatcher;
    let trying: EngineHealth;
    beforeEach(async () => {
      trials = 0;
      began = [];
      takesMs = 0;
      const engineURL = `http://127.0.0.1:${port}`;
      trying = new EngineHealth({
        engineURL,
        path: '/health',
        stalledMs: () => stalledMs,
        timing: TIMING,
        bounds: { ...BOUNDS, faults: 3, failingMs: 0 },
        tryEngine: async () => {
          trials++;
          began.push(performance.now());
          if (takesMs > 0) await new Promise((resolve) => setTimeout(resolve, takesMs));
          return tried;
        },
      });
      watched = trying.watch(client);
      serve = (res) => res.writeHead(500).end();
      status = 200;
      await pollUntil(() => trying.isReady, 'healthy');
    });
    afterEach(() => trying.stop());
    const fail = async (times: number) => {
      for (let count = 0; count < times; count++)
        await (await watched.request({ path: '/v1/x', method: 'POST', body: '{}' })).body.dump();
    };

    it('keep one ready that fails at what clients send alone', async () => {
      tried = 'good';
      await fail(3);
      await pollUntil(() => trials === 1, 'a trial');
      await fail(2);
      expect(trying.verdict).to.include({ isReady: true, isInDoubt: false });
      await fail(1);
      await pollUntil(() => trials === 2, 'another one');
      expect(trying.isReady).to.equal(true);
    });

    it("are not needed for llama.cpp's 500 for an image that its model does not read", async () => {
      serve = (res) => res.writeHead(500).end('{"error":{"message":"image input is not supported - hint"}}');
      await fail(9);
      expect(trying.verdict).to.include({ isReady: true, isInDoubt: false });
    });

    it('are not needed where vLLM drains, which it says with 500', async () => {
      serve = (res) =>
        res.writeHead(500).end('{"error":{"message":"cannot schedule new futures after shutdown"}}');
      await fail(9);
      expect(trying.verdict).to.include({ isReady: true, isInDoubt: false });
      expect(trials).to.equal(0);
    });

    it('leave a pause between two of them, however long one takes', async () => {
      tried = 'busy';
      takesMs = 3 * TIMING.tryMs;
      await fail(3);
      await pollUntil(() => began.length >= 3, 'trials');
      for (const [index, at] of began.slice(1).entries())
        expect(at - began[index]!).to.be.at.least(takesMs + TIMING.tryMs - 2);
    });

    it('condemn one that fails at that, too, and wait where it is full', async () => {
      tried = 'busy';
      await fail(3);
      await pollUntil(() => trials >= 2, 'trials');
      expect(trying.isReady).to.equal(true);
      tried = 'fault';
      await pollUntil(() => !trying.isReady, 'unhealthy');
      expect(trying.isAlive).to.equal(false);
    });
  });

  it('does not blame the engine for what it did not see itself', async () => {
    await becomeHealthy();
    status = 'hang';
    await pollUntil(() => health.verdict.phase === 'busy', 'busy');
    const end = performance.now() + 4 * BOUNDS.silentMs!;
    // Blocks the process half of the time, as on an overloaded machine.
    while (performance.now() < end) {
      const stall = performance.now() + 600;
      while (performance.now() < stall);
      status = 200;
      await pollUntil(() => health.verdict.phase === 'healthy', 'healthy');
      status = 'hang';
    }
    expect(told.map(({ phase }) => phase)).not.to.include('unhealthy');
  });
});
