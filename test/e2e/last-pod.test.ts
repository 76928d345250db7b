import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { killContainer } from './containers.ts';
import {
  apply,
  deploySimulator,
  isPodReady,
  kubectl,
  listModelPods,
  patchModel,
  readObject,
  removeModel,
  waitForModel,
  waitUntil,
} from './installation.ts';

/** One way on which clients reach a deployment. */
interface Way {
  title: string;
  deployment: string;
  url: URL;
  host: string;
  apiKey: string;
}

interface Seen {
  way: string;
  /** Start of the request: milliseconds of `performance.now()`, and the time of day. */
  beganAt: number;
  at: string;
  tookMs: number;
  /** `200`, `503 no_pod_available` …; or the foreign page, or the error of the connection. */
  what: string;
  verdict: Verdict;
}

/** `cut`: the connection ended without a whole answer. `foreign`: a page of somebody else's, or no connection, or no end. */
type Verdict = 'documented' | 'cut' | 'foreign';

const INTERVAL_MS = 40;
/** For each way; more would only pile up at a pod that does not respond. */
const MAX_IN_FLIGHT = 4;
/** A proxy's page for what was in flight in a pod that was killed without any grace. */
const CUT = '502 Bad Gateway';
/** From a forced deletion to the end of the pod, on a busy node: a second for the hook, two for the signal. */
const KILL_MS = 10_000;
const BURNERS = 2;

describe('while the last pod of a deployment goes, on a busy machine, clients get a documented answer', function () {
  this.timeout(600_000);
  const [routed, gated] = ['last-ingress', 'last-gateway'];
  let ways: Way[];
  let burners: Worker[] = [];
  before(async () => {
    await apply({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: 'last-pod', namespace: 'default' },
      spec: {
        gatewayClassName: 'traefik',
        listeners: [
          { name: 'web', protocol: 'HTTP', port: 80, allowedRoutes: { namespaces: { from: 'All' } } },
        ],
      },
    });
    const byIngress = await deploySimulator(routed);
    const byGateway = await deploySimulator(gated, {
      route: { type: 'HTTPRoute', gateway: { name: 'last-pod' }, preset: 'gateway-api' },
    });
    await Promise.all([routed, gated].map((name) => waitForModel(name)));
    const service = await readObject<{ spec: { clusterIP: string } }>('Service', routed);
    ways = [
      wayOf('Ingress', byIngress),
      wayOf('HTTPRoute', byGateway),
      {
        title: 'the Service',
        deployment: routed,
        url: new URL(`http://${service.spec.clusterIP}/v1/chat/completions`),
        host: `${routed}.default.svc`,
        apiKey: byIngress.apiKey,
      },
    ];
    await Promise.all(
      ways.map((way) => waitUntil(way.title, 60, async () => (await ask(way)).what === '200')),
    );
    burners = Array.from({ length: BURNERS }, () => new Worker('for (;;);', { eval: true }));
  });
  after(async () => {
    await Promise.all(burners.map((burner) => burner.terminate()));
    await Promise.all([routed, gated].map(removeModel));
    await kubectl('delete', 'gateway', 'last-pod', '--ignore-not-found');
  });

  /** Asks on all ways at a steady rate while something happens, until all serve again. */
  async function watch(disturb: (name: string) => Promise<void>): Promise<Seen[]> {
    const seen: Seen[] = [];
    const running = new Map<Way, Set<Promise<void>>>(ways.map((way) => [way, new Set()]));
    const timer = setInterval(() => {
      for (const [way, asking] of running) {
        if (asking.size >= MAX_IN_FLIGHT) continue;
        const asked = ask(way)
          .then((answer) => void seen.push(answer))
          .finally(() => asking.delete(asked));
        asking.add(asked);
      }
    }, INTERVAL_MS);
    try {
      await sleep(1_000);
      await Promise.all([routed, gated].map(disturb));
      for (const name of [routed, gated]) await waitForModel(name, 240);
      await sleep(2_000);
    } finally {
      clearInterval(timer);
      await Promise.all([...running.values()].flatMap((asking) => [...asking]));
    }
    return seen;
  }

  /** Requests in flight in a pod that was killed without grace may be cut: a few, which started before it was gone. */
  function expectContract(seen: Seen[], goneBy?: ReadonlyMap<string, number>): void {
    const counts: Record<string, number> = {};
    for (const { way, what } of seen) counts[`${way}: ${what}`] = (counts[`${way}: ${what}`] ?? 0) + 1;
    console.log(`      ${JSON.stringify(counts)}`);
    const describe = ({ way, at, tookMs, what }: Seen) => `${at} +${tookMs} ms ${way}: ${what}`;
    const isCut = ({ way, verdict, beganAt }: Seen) => verdict === 'cut' && beganAt < (goneBy?.get(way) ?? 0);
    const wrong = seen.filter((answer) => answer.verdict !== 'documented' && !isCut(answer));
    expect(wrong.map(describe)).to.deep.equal([]);
    for (const { title } of ways) {
      const ofWay = seen.filter(({ way }) => way === title);
      expect(ofWay.filter(isCut).map(describe)).to.have.length.at.most(MAX_IN_FLIGHT);
      expect(ofWay.filter(({ what }) => what === '503 no_pod_available')).to.not.be.empty;
    }
  }

  it('when it is deleted by force', async () => {
    const goneBy = new Map<string, number>();
    const seen = await watch(async (name) => {
      const [pod] = await listModelPods(name);
      await kubectl('delete', 'pod', pod!.metadata.name, '--force', '--grace-period=0');
      for (const { title, deployment } of ways)
        if (deployment === name) goneBy.set(title, performance.now() + KILL_MS);
      await waitUntil(`another pod of ${name}`, 120, async () =>
        (await listModelPods(name)).some(
          (other) => other.metadata.uid !== pod!.metadata.uid && isPodReady(other),
        ),
      );
    });
    expectContract(seen, goneBy);
  });

  it('when it is scaled in, and out again', async () => {
    expectContract(
      await watch(async (name) => {
        await patchModel(name, { replicas: 0 });
        await waitUntil(`no pod of ${name}`, 120, async () => (await listModelPods(name)).length === 0);
        await patchModel(name, { replicas: 1 });
      }),
    );
  });

  it('when its engine dies', async () => {
    expectContract(
      await watch(async (name) => {
        const [pod] = await listModelPods(name);
        await killContainer(pod!, 'engine');
        await waitUntil(
          `${name} to be missed`,
          60,
          async () => !(await listModelPods(name)).every(isPodReady),
        );
      }),
    );
  });
});

const wayOf = (title: string, { name, baseURL, apiKey }: EndpointEntry): Way => {
  const url = new URL(`${baseURL}/chat/completions`);
  return { title, deployment: name, url, host: url.host, apiKey };
};

const agent = new Agent({ keepAlive: true, maxSockets: 50 });

/** Codes of connections that end during a request or its response. */
const CUT_CODES = ['ECONNRESET', 'EPIPE'];

/** One chat. */
function ask({ title, url, host, apiKey }: Way): Promise<Seen> {
  const beganAt = performance.now();
  const seen = { way: title, beganAt, at: new Date().toISOString().slice(11, 23) };
  const finish = (what: string, verdict: Verdict): Seen => ({
    ...seen,
    tookMs: Math.round(performance.now() - beganAt),
    what,
    verdict,
  });
  return new Promise((resolve) => {
    const call = request(url, {
      agent,
      method: 'POST',
      headers: { host, authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    });
    const fail = ({ code, message }: NodeJS.ErrnoException) =>
      resolve(finish(code ?? message, CUT_CODES.includes(code!) ? 'cut' : 'foreign'));
    call.setTimeout(60_000, () => {
      // An answer that has begun ends as one that was cut.
      resolve(finish('nothing for 60 s', 'foreign'));
      call.destroy();
    });
    call.on('error', fail);
    call.on('response', async (response) => {
      let text = '';
      try {
        for await (const chunk of response.setEncoding('utf8')) text += chunk;
      } catch (error) {
        return fail(error as Error);
      }
      const { what, verdict } = judgeAnswer(response.statusCode!, text);
      resolve(finish(what, verdict));
    });
    call.end(JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 }));
  });
}

function judgeAnswer(status: number, text: string): Pick<Seen, 'what' | 'verdict'> {
  try {
    const body = JSON.parse(text) as { choices?: unknown[]; error?: { code: string } };
    if (status === 200 && body.choices) return { what: '200', verdict: 'documented' };
    if (body.error?.code) return { what: `${status} ${body.error.code}`, verdict: 'documented' };
  } catch {}
  const what = `${status} ${text.slice(0, 80)}`;
  return { what, verdict: what === CUT ? 'cut' : 'foreign' };
}
