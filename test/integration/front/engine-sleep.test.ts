import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { publishDeployment } from '../../../redis/publication/publication.ts';
import { callChat, streamChat } from '../../support/chat.ts';
import { findFreePort } from '../../support/child-program.ts';
import { readHeartbeats } from '../../support/heartbeats.ts';
import {
  API_KEY,
  describeModel,
  type Engine,
  type ModelReplica,
  startEngine,
  startReplica,
} from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishApiKey } from '../../support/publication.ts';
import { TestStack } from '../../support/test-stack.ts';

const ADDRESS = '127.0.0.2';
const POD = `pod-${ADDRESS}`;
const SLEEP_MS = 200;
const KEY = { n: 'test', rpm: 1_000_000, tpd: 1_000_000_000, exp: 0, off: 0 } as const;

describe('a replica whose engine sleeps', () => {
  let stack: TestStack;
  let engine: Engine;
  let replica: ModelReplica;
  let port: number;
  const config = describeModel({ scaling: { min: 0, max: 2, idle: 'Sleep' } });
  const { namespace, name } = config;

  before(async () => {
    stack = await TestStack.start();
    engine = await startEngine({ SIMULATOR_SLEEP_MODE: '1', SIMULATOR_SLEEP_MS: String(SLEEP_MS) });
    port = await findFreePort([ADDRESS]);
    await publishApiKey(stack.redis, namespace, hashApiKey(API_KEY), KEY);
    await tell([]);
    await startGateway();
  });
  after(async () => {
    await replica?.stop();
    await engine?.stop();
    await stack?.stop();
  });

  const startGateway = async () => {
    replica = await startReplica({
      redisURL: stack.server.url,
      engineURL: engine.url,
      config,
      address: ADDRESS,
      port,
    });
    await pollUntil(async () => (await replica.admin('/readyz')).ok, 'ready');
  };
  const tell = (sleeping: string[]) => publishDeployment(stack.redis, { ...config, sleeping });
  const isAsleep = async () => (await readHeartbeats(stack.redis, namespace, name))[0]?.asleep === true;
  /** It is told anew each time: what came while it had work does not hold. */
  const putToSleep = async () => {
    let isTold = false;
    await pollUntil(async () => {
      isTold = !isTold;
      await tell(isTold ? [POD] : []);
      return isAsleep();
    }, 'its sleep');
  };
  const chat = async () => {
    const startedAt = performance.now();
    const answer = await callChat(replica.url);
    const text = await answer.text();
    return { status: answer.status, text, tookMs: performance.now() - startedAt };
  };

  it('stays ready, and is woken by the next request, which is answered', async () => {
    await putToSleep();
    expect((await replica.admin('/readyz')).ok).to.equal(true);
    const { status, text, tookMs } = await chat();
    expect(status, text).to.equal(200);
    expect(tookMs).to.be.within(SLEEP_MS, 10_000);
    await pollUntil(async () => !(await isAsleep()), 'its awakening to be told');
  });

  it('serves all that come while it wakes', async () => {
    await putToSleep();
    const answers = await Promise.all(Array.from({ length: 30 }, chat));
    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200));
    const { ended } = await streamChat(replica.url);
    expect((await ended).isWhole).to.equal(true);
  });

  it('never sleeps while it works, however often it is told to', async () => {
    await engine.control({ sleepMs: 20, ttftMs: 5, itlMs: 2, tokens: 5 });
    let isOver = false;
    const statuses = new Map<number, number>();
    const ask = async () => {
      while (!isOver) {
        const { status } = await chat();
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
      }
    };
    const askers = Array.from({ length: 3 }, ask);
    const woken = () => replica.program.output.split('engine woken').length - 1;
    const before = woken();
    await pollUntil(async () => {
      await tell([POD]);
      await tell([]);
      return woken() - before >= 10;
    }, 'ten sleeps between requests');
    isOver = true;
    await Promise.all(askers);
    expect([...statuses.keys()]).to.deep.equal([200]);
    expect((await fetch(`${engine.url}/health`)).status).to.equal(200);
  });

  it('is woken by a gateway that is new, too', async () => {
    await engine.control({ sleepMs: SLEEP_MS });
    await putToSleep();
    await replica.stop('SIGKILL');
    await startGateway();
    const { status, text } = await chat();
    expect(status, text).to.equal(200);
  });

  it('does not relay the routes for that', async () => {
    for (const [method, path] of [
      ['POST', '/sleep'],
      ['POST', '/wake_up'],
      ['GET', '/is_sleeping'],
      ['POST', '/v1/sleep'],
    ] as const) {
      const answer = await fetch(`${replica.origin}${path}`, {
        method,
        headers: { authorization: `Bearer ${API_KEY}` },
      });
      expect(answer.status, path).to.equal(404);
    }
    expect((await (await fetch(`${engine.url}/is_sleeping`)).json()) as object).to.deep.equal({
      is_sleeping: false,
    });
  });
});
