/**
 * Which replica answers, with the prefix caches of real engines: the traces of `make bench ONLY=prefix`, shorter, before two replicas,
 * by `route.balance`, in turn, and by two routers. No part of a run of all tests:
 * `ENGINE=vllm mocha --exit --timeout 1800000 test/engines/prefix.test.ts`.
 */
import { expect } from 'chai';
import { PORTS } from '../../api/names.ts';
import { SYSTEM_CORE, startPinned, stopAllPinned, stopPinned } from '../bench/pinned-process.ts';
import { type Answer, playSessions, type Replay } from '../bench/prefix/replay.ts';
import { listTraces, type Message, type Trace } from '../bench/prefix/traces.ts';
import { buildSGLangRouter, buildVLLMRouter } from '../bench/rust-gateways.ts';
import { percentile } from '../bench/statistics.ts';
import { PORTS as BENCH_PORTS } from '../bench/systems.ts';
import { pollUntil } from '../support/poll.ts';
import { ask, type Fields, type Target } from './answers.ts';
import { readEngine } from './catalog.ts';
import { ENGINE_PORT } from './engine-processes.ts';
import { tellMeasure } from './measures.ts';
import { openStream, readStream } from './open-stream.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name } = readEngine();
const CHAT = '/chat/completions';
const USERS = 8;
/** Half of the sessions, with shorter texts: a character is a token of the tiny model, which takes 8,192 of them. */
const TRACES = listTraces(0.5, 1 / 4);

/** Long enough to be led somewhere by its beginning. */
const QUESTION: Fields = {
  messages: [{ role: 'user', content: 'hello to the world of small models '.repeat(20) }],
  max_tokens: 1,
};

interface CacheCounts {
  queries: number;
  hits: number;
}

describe(`prompts before two replicas of ${name}`, function () {
  this.timeout(1_800_000);
  let served: ServedModel;
  /** The gateway of each replica, called in turns as by an ingress; the engines themselves, and their addresses. */
  let gateways: Target[];
  let engines: Target[];
  let addresses: string[];
  before(async () => {
    served = await serveModel(name, {
      spec: { replicas: 2, route: { balance: 'Prefix' } },
      engine: { args: ['--enable-prefix-caching'] },
    });
    addresses = await served.listAddresses();
    gateways = addresses.map((address) => ({
      ...served.gateway,
      baseURL: `http://${address}:${PORTS.http}/v1`,
    }));
    engines = addresses.map((address) => ({
      ...served.engine,
      baseURL: `http://${address}:${ENGINE_PORT}/v1`,
    }));
    // The first prompts of each length are compiled for.
    for (const trace of TRACES) await play(trace, 0, engines);
  });
  after(async () => {
    await stopAllPinned();
    await served?.stop();
  });

  it('are found in the cache more often with Prefix than with LeastLoaded or in turn', async () => {
    const byPrefix = await measureTraces('Prefix', 1, gateways);
    await served.patch({ route: { balance: 'LeastLoaded' } });
    await pollUntil(async () => !(await isChosenByPrefix()), 'the change of route.balance');
    const byLoad = await measureTraces('LeastLoaded', 2, gateways);
    const inTurn = await measureTraces('round robin', 3, engines);
    await served.patch({ route: { balance: 'Prefix' } });
    await pollUntil(isChosenByPrefix, 'the change of route.balance');
    const again = await measureTraces('Prefix', 4, gateways);
    // Who asks behind the same prefix as all others finds it anywhere.
    for (const trace of ['chats', 'agents', 'prompts', 'skewed']) {
      const others = Math.max(byLoad.get(trace)!, inTurn.get(trace)!);
      expect(byPrefix.get(trace), trace).to.be.greaterThan(others);
      expect(again.get(trace), trace).to.be.greaterThan(others);
    }
  });

  it('are led by routers that see all of them, for comparison', async () => {
    const port = BENCH_PORTS.vllmRouter;
    const options = {
      port,
      metricsPort: BENCH_PORTS.vllmRouterMetrics,
      engines: engines.map(({ baseURL }) => new URL(baseURL).origin),
      policy: 'cache_aware',
    } as const;
    const target = { ...served.engine, baseURL: `http://127.0.0.1:${port}/v1` };
    for (const [index, [router, command]] of Object.entries({
      'vllm-router': buildVLLMRouter(options),
      'sglang-router': buildSGLangRouter(options),
    }).entries()) {
      const process = startPinned(SYSTEM_CORE, command, '/dev/null');
      const isAnswered = async () =>
        (await ask(target, CHAT, QUESTION).catch(() => undefined))?.status === 200;
      await pollUntil(isAnswered, `an answer through ${router}`, 60_000);
      await measureTraces(router, 5 + index, [target]);
      await stopPinned(process);
    }
  });

  /** The hit rate of both caches in each trace. `run`: another one has nothing in the caches yet. */
  async function measureTraces(
    name: string,
    run: number,
    targets: readonly Target[],
  ): Promise<Map<string, number>> {
    const rates = new Map<string, number>();
    for (const trace of TRACES)
      rates.set(trace.name, await measure(`${trace.name}, ${name}`, trace, run, targets));
    return rates;
  }

  async function measure(
    title: string,
    trace: Trace,
    run: number,
    targets: readonly Target[],
  ): Promise<number> {
    const before = await countCached();
    const { firstTokens, errors, requests, seconds } = await play(trace, run, targets);
    const after = await countCached();
    const added = after.map(({ queries, hits }, index) => ({
      queries: queries - before[index]!.queries,
      hits: hits - before[index]!.hits,
    }));
    const sum = (figure: keyof CacheCounts) => added.reduce((total, counts) => total + counts[figure], 0);
    const rate = sum('hits') / sum('queries');
    const mostQueries = Math.max(...added.map(({ queries }) => queries));
    const [p50, p95] = [0.5, 0.95].map((share) => percentile(firstTokens, share).toFixed(0));
    tellMeasure(
      title,
      [
        `hit rate ${(100 * rate).toFixed(1)} %`,
        `time to first token ${p50}, ${p95} ms`,
        `${(requests / seconds).toFixed(1)} requests/s`,
        `most prompt tokens of a replica ${((added.length * mostQueries) / sum('queries')).toFixed(2)} of the mean`,
      ].join('; '),
    );
    expect(errors, title).to.equal(0);
    return rate;
  }

  /** Its first words tell a run from the others. */
  async function play(trace: Trace, run: number, targets: readonly Target[]): Promise<Replay> {
    let requests = 0;
    return playSessions(trace, USERS, ([first, ...rest], { maxTokens }) => {
      const messages = [{ ...first!, content: `run ${run}: ${first!.content}` }, ...rest];
      return streamAnswer(targets[requests++ % targets.length]!, messages, maxTokens);
    });
  }

  async function countCached(): Promise<CacheCounts[]> {
    return Promise.all(
      addresses.map(async (address) => {
        const text = await readMetrics(address, ENGINE_PORT);
        const read = (metric: string) =>
          Number(new RegExp(`^vllm:prefix_cache_${metric}_total\\{.*\\} (\\S+)$`, 'm').exec(text)?.[1]);
        return { queries: read('queries'), hits: read('hits') };
      }),
    );
  }

  /** Whether a prompt that is long enough is routed by its prefix. */
  async function isChosenByPrefix(): Promise<boolean> {
    const before = await countChoices();
    for (const gateway of gateways) await ask(gateway, CHAT, QUESTION);
    return (await countChoices()) > before;
  }

  async function countChoices(): Promise<number> {
    const texts = await Promise.all(addresses.map((address) => readMetrics(address, PORTS.metrics)));
    return texts
      .flatMap((text) => [...text.matchAll(/^berth_gateway_prefix_choices_total\S* (\S+)$/gm)])
      .reduce((sum, [, count]) => sum + Number(count), 0);
  }
});

/** null: it was incomplete. */
async function streamAnswer(
  target: Target,
  messages: readonly Message[],
  maxTokens: number,
): Promise<Answer | null> {
  const start = performance.now();
  const answer = await openStream(target, CHAT, { messages, max_tokens: maxTokens, temperature: 0 });
  await answer.ended;
  if (answer.status !== 200 || answer.frames.at(-1) !== '[DONE]') return null;
  const { choices } = readStream(answer) as { choices?: { delta: { content?: string } }[] };
  return { firstTokenMs: answer.arrivals[0]! - start, text: choices?.[0]?.delta.content ?? '' };
}

const readMetrics = async (address: string, port: number): Promise<string> =>
  (await fetch(`http://${address}:${port}/metrics`)).text();
