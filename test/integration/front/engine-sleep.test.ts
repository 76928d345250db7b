import { expect } from 'chai';
import { publishDeployment } from '../../../redis/publication/publication.ts';
import { callChat, streamChat } from '../../support/chat.ts';
import { API_KEY, describeModel, startEngine } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { seedRandom } from '../../support/random-seeds.ts';
import { useReplicas } from '../../support/replica-stack.ts';

const ADDRESS = '127.0.0.2';
const POD = `pod-${ADDRESS}`;
const SLEEP_MS = 200;

describe('a replica whose engine sleeps', () => {
  const config = describeModel({ scaling: { min: 0, max: 2, idle: 'Sleep' } });
  const stack = useReplicas({ ...config, sleeping: [] }, [ADDRESS], {
    startEngine: () => startEngine({ SIMULATOR_SLEEP_MODE: '1', SIMULATOR_SLEEP_MS: String(SLEEP_MS) }),
  });
  const { engines, replicas } = stack;

  const tell = (sleeping: string[]) => publishDeployment(stack.redis, { ...config, sleeping });
  const isAsleep = async () => (await stack.readHeartbeats())[0]?.asleep === true;
  /** Asks in each round: a request to sleep that arrives during work has no effect. */
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
    const answer = await callChat(replicas[0]!.url);
    const text = await answer.text();
    return { status: answer.status, text, tookMs: performance.now() - startedAt };
  };

  it('stays ready, and is woken by the next request, which is answered', async () => {
    await putToSleep();
    expect((await replicas[0]!.admin('/readyz')).ok).to.equal(true);
    const { status, text, tookMs } = await chat();
    expect(status, text).to.equal(200);
    expect(tookMs).to.be.within(SLEEP_MS, 10_000);
    await pollUntil(async () => !(await isAsleep()), 'its awakening to be told');
  });

  it('serves all that come while it wakes', async () => {
    await putToSleep();
    const answers = await Promise.all(Array.from({ length: 30 }, chat));
    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200));
    const { ended } = await streamChat(replicas[0]!.url);
    expect((await ended).isWhole).to.equal(true);
  });

  it('never sleeps while it works, however often it is told to', async () => {
    await engines[0]!.control({ sleepMs: 20, ttftMs: 5, itlMs: 2, tokens: 5 });
    let isOver = false;
    const statuses = new Map<number, number>();
    const random = seedRandom(1);
    const ask = async () => {
      while (!isOver) {
        const { status } = await chat();
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await new Promise((resolve) => setTimeout(resolve, random() * 60));
      }
    };
    const askers = Array.from({ length: 3 }, ask);
    const woken = () => replicas[0]!.program.output.split('engine woken').length - 1;
    const before = woken();
    await pollUntil(async () => {
      await tell([POD]);
      await tell([]);
      return woken() - before >= 10;
    }, 'ten sleeps between requests');
    isOver = true;
    await Promise.all(askers);
    expect([...statuses.keys()]).to.deep.equal([200]);
    expect((await fetch(`${engines[0]!.url}/health`)).status).to.equal(200);
  });

  it('is woken by a gateway that is new, too', async () => {
    await engines[0]!.control({ sleepMs: SLEEP_MS });
    await putToSleep();
    await replicas[0]!.stop('SIGKILL');
    await stack.restart(0);
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
      const answer = await fetch(`${replicas[0]!.origin}${path}`, {
        method,
        headers: { authorization: `Bearer ${API_KEY}` },
      });
      expect(answer.status, path).to.equal(404);
    }
    expect((await (await fetch(`${engines[0]!.url}/is_sleeping`)).json()) as object).to.deep.equal({
      is_sleeping: false,
    });
  });
});
