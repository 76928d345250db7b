/**
 * Which replica answers a conversation, with the prefix caches of real engines: conversations of several turns before two replicas, by
 * `route.balance`, in turn, and by two routers. No part of a run of all tests:
 * `ENGINE=vllm mocha --exit --timeout 900000 test/engines/prefix.test.ts`.
 */
import { expect } from 'chai';
import { PORTS } from '../../api/names.ts';
import { createRandom, pickInteger, type Random } from '../../simulator/random.ts';
import { SYSTEM_CORE, startPinned, stopAllPinned, stopPinned } from '../bench/pinned-process.ts';
import { buildSGLangRouter, buildVLLMRouter } from '../bench/rust-gateways.ts';
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
const CONVERSATIONS = 24;
const TURNS = 5;
const ANSWER_TOKENS = 16;
/** Of the common system prompt, and of messages. */
const SYSTEM_WORDS = 150;
const [MIN_WORDS, MAX_WORDS] = [40, 90];
const WORDS = 'the quick brown fox jumps over lazy dog and then it says hello to world of small models'.split(
  ' ',
);

/** Long enough to be led somewhere by its beginning. */
const QUESTION: Fields = {
  messages: [{ role: 'user', content: WORDS.join(' ').repeat(10) }],
  max_tokens: 1,
};

interface Message {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

interface Played {
  firstTokens: number[];
  errors: number;
  seconds: number;
}

interface CacheCounts {
  queries: number;
  hits: number;
}

describe(`conversations before two replicas of ${name}`, function () {
  this.timeout(900_000);
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
    await play(createRandom(0), engines);
  });
  after(async () => {
    await stopAllPinned();
    await served?.stop();
  });

  it('find more of themselves in the cache with Prefix than with LeastLoaded', async () => {
    const prefix = await measure('Prefix', 1, gateways);
    await served.patch({ route: { balance: 'LeastLoaded' } });
    await pollUntil(async () => !(await isChosenByPrefix()), 'the change of route.balance');
    const leastLoaded = await measure('LeastLoaded', 2, gateways);
    expect(prefix).to.be.greaterThan(leastLoaded);
  });

  it('find no less of themselves with Prefix than where they come in turn', async () => {
    const inTurn = await measure('round robin', 3, engines);
    await served.patch({ route: { balance: 'Prefix' } });
    await pollUntil(isChosenByPrefix, 'the change of route.balance');
    expect(await measure('Prefix', 4, gateways)).to.be.greaterThan(inTurn);
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
    for (const [seed, [router, command]] of Object.entries({
      'vllm-router': buildVLLMRouter(options),
      'sglang-router': buildSGLangRouter(options),
    }).entries()) {
      const process = startPinned(SYSTEM_CORE, command, '/dev/null');
      const isAnswered = async () =>
        (await ask(target, CHAT, QUESTION).catch(() => undefined))?.status === 200;
      await pollUntil(isAnswered, `an answer through ${router}`, 60_000);
      await measure(router, 5 + seed, [target]);
      await stopPinned(process);
    }
  });

  /** The hit rate of both caches; another seed means other words, which are in neither cache. */
  async function measure(name: string, seed: number, targets: readonly Target[]): Promise<number> {
    const before = await countCached();
    const { firstTokens, errors, seconds } = await play(createRandom(seed), targets);
    const after = await countCached();
    const added = after.map(({ queries, hits }, index) => ({
      queries: queries - before[index]!.queries,
      hits: hits - before[index]!.hits,
    }));
    const sum = (figure: keyof CacheCounts) => added.reduce((total, counts) => total + counts[figure], 0);
    const rates = added.map(({ queries, hits }) => hits / queries);
    const rate = sum('hits') / sum('queries');
    const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
    const mostQueries = Math.max(...added.map(({ queries }) => queries));
    tellMeasure(`${name}, hit rate`, `${percent(rate)} (${rates.map(percent).join(', ')})`);
    tellMeasure(
      `${name}, time to first token p50, p95`,
      [0.5, 0.95].map((share) => `${percentile(firstTokens, share).toFixed(0)} ms`).join(', '),
    );
    tellMeasure(`${name}, requests/s`, (firstTokens.length / seconds).toFixed(1));
    tellMeasure(
      `${name}, most tokens of a replica`,
      `${((added.length * mostQueries) / sum('queries')).toFixed(2)} of the mean`,
    );
    expect(errors).to.equal(0);
    return rate;
  }

  async function play(random: Random, targets: readonly Target[]): Promise<Played> {
    const system: Message = { role: 'system', content: write(random, SYSTEM_WORDS) };
    const conversations = Array.from({ length: CONVERSATIONS }, () =>
      Array.from({ length: TURNS }, () => write(random, pickInteger(random, MIN_WORDS, MAX_WORDS))),
    ).values();
    const played: Played = { firstTokens: [], errors: 0, seconds: 0 };
    const start = performance.now();
    let requests = 0;
    const playUser = async () => {
      for (const questions of conversations) {
        const messages = [system];
        for (const content of questions) {
          messages.push({ role: 'user', content });
          const answer = await stream(targets[requests++ % targets.length]!, messages, played);
          messages.push({ role: 'assistant', content: answer });
        }
      }
    };
    await Promise.all(Array.from({ length: USERS }, playUser));
    played.seconds = (performance.now() - start) / 1_000;
    return played;
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

const write = (random: Random, count: number): string =>
  Array.from({ length: count }, () => WORDS[pickInteger(random, 0, WORDS.length - 1)]).join(' ');

/** The text of the response; empty if it was incomplete. */
async function stream(target: Target, messages: readonly Message[], played: Played): Promise<string> {
  const start = performance.now();
  const fields: Fields = { messages, max_tokens: ANSWER_TOKENS, temperature: 0 };
  const answer = await openStream(target, CHAT, fields);
  await answer.ended;
  if (answer.status !== 200 || answer.frames.at(-1) !== '[DONE]') {
    played.errors++;
    return '';
  }
  played.firstTokens.push(answer.arrivals[0]! - start);
  const { choices } = readStream(answer) as { choices?: { delta: { content?: string } }[] };
  return choices?.[0]?.delta.content ?? '';
}

const readMetrics = async (address: string, port: number): Promise<string> =>
  (await fetch(`http://${address}:${port}/metrics`)).text();

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(share * values.length)] ?? Number.NaN;
