/**
 * Which replica answers a conversation, with the prefix caches of real engines: conversations of several turns before two replicas, by
 * `route.balance`. No part of a run of all tests: `ENGINE=vllm mocha --exit --timeout 900000 test/engines/prefix.test.ts`.
 */
import { expect } from 'chai';
import { PORTS } from '../../api/names.ts';
import { createRandom, pickInteger, type Random } from '../../simulator/random.ts';
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
/** Of the system prompt that all share, and of what users say. */
const SYSTEM_WORDS = 150;
const [MIN_WORDS, MAX_WORDS] = [40, 90];
const WORDS = 'the quick brown fox jumps over lazy dog and then it says hello to world of small models'.split(
  ' ',
);

interface Message {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

interface Played {
  firstTokens: number[];
  errors: number;
}

interface CacheCounts {
  queries: number;
  hits: number;
}

describe(`conversations before two replicas of ${name}`, function () {
  this.timeout(900_000);
  let served: ServedModel;
  /** The gateway of each replica, asked in turn as from an ingress, and the engines' own addresses. */
  let gateways: Target[];
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
  });
  after(() => served?.stop());

  it('find more of themselves in the cache with Prefix than with LeastLoaded', async () => {
    const prefix = await measure('Prefix', 1);
    await served.patch({ route: { balance: 'LeastLoaded' } });
    await pollUntil(async () => !(await isChosenByPrefix()), 'the change of route.balance');
    const leastLoaded = await measure('LeastLoaded', 2);
    expect(prefix).to.be.greaterThan(leastLoaded);
  });

  /** The hit rate of both caches; another seed has other words, of which neither knows any. */
  async function measure(balance: string, seed: number): Promise<number> {
    const before = await countCached();
    const { firstTokens, errors } = await play(createRandom(seed));
    const after = await countCached();
    const rates = after.map(
      ({ queries, hits }, index) => (hits - before[index]!.hits) / (queries - before[index]!.queries),
    );
    const sum = (figure: keyof CacheCounts) =>
      after.reduce((total, counts, index) => total + counts[figure] - before[index]![figure], 0);
    const rate = sum('hits') / sum('queries');
    const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
    tellMeasure(`${balance}, hit rate`, `${percent(rate)} (${rates.map(percent).join(', ')})`);
    tellMeasure(
      `${balance}, time to first token p50, p95`,
      [0.5, 0.95].map((share) => `${percentile(firstTokens, share).toFixed(0)} ms`).join(', '),
    );
    expect(errors).to.equal(0);
    return rate;
  }

  async function play(random: Random): Promise<Played> {
    const system: Message = { role: 'system', content: write(random, SYSTEM_WORDS) };
    const conversations = Array.from({ length: CONVERSATIONS }, () =>
      Array.from({ length: TURNS }, () => write(random, pickInteger(random, MIN_WORDS, MAX_WORDS))),
    ).values();
    const played: Played = { firstTokens: [], errors: 0 };
    let requests = 0;
    const playUser = async () => {
      for (const questions of conversations) {
        const messages = [system];
        for (const content of questions) {
          messages.push({ role: 'user', content });
          const answer = await stream(gateways[requests++ % gateways.length]!, messages, played);
          messages.push({ role: 'assistant', content: answer });
        }
      }
    };
    await Promise.all(Array.from({ length: USERS }, playUser));
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

  /** Whether a prompt that is long enough is led somewhere. */
  async function isChosenByPrefix(): Promise<boolean> {
    const before = await countChoices();
    const messages = [{ role: 'user', content: WORDS.join(' ').repeat(10) }];
    for (const gateway of gateways) await ask(gateway, CHAT, { messages, max_tokens: 1 });
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

/** What was answered; an empty text for what was no whole answer. */
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
