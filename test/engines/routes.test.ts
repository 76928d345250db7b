/** The routes besides chat and completions: the engine's own responses, in the endpoint's formats. */
import { expect } from 'chai';
import { pollUntil } from '../support/poll.ts';
import { ask, type Fields, narrow, send, strip, type Target } from './answers.ts';
import { readEngine } from './catalog.ts';
import { DIALECT_KINDS, TOKEN_KINDS, TRANSLATED_TOKEN_KINDS } from './dialect-kinds.ts';
import { askEvents } from './event-answers.ts';
import type { RequestKind } from './request-kinds.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name, engine } = readEngine();
const isFor = ({ only }: RequestKind): boolean => only?.includes(name) ?? true;
const CHAT = '/chat/completions';
/** The engine's own slots, which the gateway does not know here. */
const PLACES = 8;
/** With all slots taken, an engine on a busy machine needs long for a step. */
const BUSY_TIMEOUT_MS = 300_000;

const PRICES = { perMillionInputTokens: 200, perMillionCachedInputTokens: 20, perMillionOutputTokens: 1000 };

/** Longer than a block of any engine's cache; different for each route, so that none finds the prompt of another. */
const LONG_PROMPT = 'the quick fox and the lazy dog '.repeat(30);
interface Counted {
  input: number;
  cached: number;
  output: number;
}
const inDetails = (usage: Fields, input: string, output: string): Counted => ({
  input: usage[`${input}_tokens`] as number,
  cached: (usage[`${input}_tokens_details`] as { cached_tokens?: number } | null)?.cached_tokens ?? 0,
  output: usage[`${output}_tokens`] as number,
});
/** Input tokens that were neither cached nor added to the cache, that were added, and that were cached. */
const MESSAGES_USAGE = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens',
];
const CACHED: { path: string; body: Fields; read: (usage: Fields) => Counted }[] = [
  {
    path: CHAT,
    body: { messages: [{ role: 'user', content: `chats ${LONG_PROMPT}` }], max_tokens: 4 },
    read: (usage) => inDetails(usage, 'prompt', 'completion'),
  },
  {
    path: '/responses',
    body: { input: `responses ${LONG_PROMPT}`, max_output_tokens: 4 },
    read: (usage) => inDetails(usage, 'input', 'output'),
  },
  {
    path: '/messages',
    body: { messages: [{ role: 'user', content: `messages ${LONG_PROMPT}` }], max_tokens: 4 },
    read: (usage) => {
      const [read, written, cached, output] = MESSAGES_USAGE.map((field) => Number(usage[field] ?? 0));
      return { input: read! + written! + cached!, cached: cached!, output: output! };
    },
  },
];

const priceOf = ({ input, cached, output }: Counted): number =>
  (input - cached) * PRICES.perMillionInputTokens +
  cached * PRICES.perMillionCachedInputTokens +
  output * PRICES.perMillionOutputTokens;

const talk = (most: number, path = CHAT): Fields =>
  path === '/responses'
    ? { input: 'hello', max_output_tokens: most, ignore_eos: true }
    : { messages: [{ role: 'user', content: 'hello' }], max_tokens: most, ignore_eos: true };

function expectSame(answer: unknown, direct: unknown): void {
  const engine = strip(direct);
  expect(narrow(strip(answer), engine)).to.deep.equal(engine);
}

/** Occupies one of the engine's slots until `leave` is called. */
function occupy({ gateway }: ServedModel): { leave: () => void } {
  const leaving = new AbortController();
  send(gateway, CHAT, { ...talk(engine.context! - 250), stream: true }, leaving.signal)
    .then((response) => response.text())
    .catch(() => {});
  return { leave: () => leaving.abort() };
}

describe(`routes of ${name}`, () => {
  let served: ServedModel;
  before(async function () {
    this.timeout(660_000);
    served = await serveModel(name, {
      spec: {
        concurrency: 4 * PLACES,
        pricing: Object.fromEntries(Object.entries(PRICES).map(([price, value]) => [price, String(value)])),
      },
    });
  });
  after(() => served?.stop());

  const askUsage = async (path: string, body: Fields, read: (usage: Fields) => Counted) => {
    const answer = await ask(served.gateway, path, body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    return read(answer.body.usage as Fields);
  };

  /** The cost of all responses so far, in millionths. The first tests, since all others are charged, too. */
  let due = 0;
  for (const { path, body, read } of CACHED)
    it(`tells and prices tokens of ${path} that the engine had in its cache`, async () => {
      const first = await askUsage(path, body, read);
      const second = await askUsage(path, body, read);
      expect(second.cached).to.be.greaterThan(100);
      due += priceOf(first) + priceOf(second);
      await pollUntil(async () => (await served.spent()) >= due, 'the answers to be paid for');
      expect(await served.spent()).to.equal(due);
    });

  for (const { path, title, body } of DIALECT_KINDS.filter(isFor)) {
    it(`is as the engine itself answers ${path}, whole: ${title}`, async () => {
      const direct = await ask(served.engine, path, body);
      expect(direct.status, JSON.stringify(direct.body)).to.equal(200);
      expectSame(await ask(served.gateway, path, body), direct);
    });
    if (path.endsWith('_tokens')) continue;
    it(`is as the engine itself answers ${path}, streamed: ${title}`, async () => {
      const direct = await askEvents(served.engine, path, body);
      expect(direct.status, direct.text).to.equal(200);
      expect(direct.types.at(-1)).to.match(/^(response\.completed|response\.incomplete|message_stop)$/);
      expectSame(await askEvents(served.gateway, path, body), direct);
    });
  }

  for (const { path, title, body } of TOKEN_KINDS.filter(isFor))
    it(`is as the engine itself answers ${path}: ${title}`, async () => {
      const direct = await ask(served.engine, `/..${path}`, body);
      expect(direct.status, JSON.stringify(direct.body)).to.equal(200);
      expect(strip(await ask(served.gateway, `/..${path}`, body))).to.deep.equal(strip(direct));
    });

  for (const { path, title, body, own, read } of TRANSLATED_TOKEN_KINDS.filter(isFor))
    it(`has what the engine itself answers ${path} in its own words: ${title}`, async () => {
      const direct = await ask(served.engine, `/..${path}`, own);
      expect(direct.status, JSON.stringify(direct.body)).to.equal(200);
      const behind = await ask(served.gateway, `/..${path}`, body);
      expect(behind.status, JSON.stringify(behind.body)).to.equal(200);
      expect(behind.body).to.include.keys(Object.keys(read(direct.body)));
      expect(behind.body).to.deep.include(read(direct.body));
    });

  for (const path of engine.waiting ? [CHAT, '/messages', '/responses'] : [])
    it(`gives a place first to who has a key of a higher priority, whatever the others claim: ${path}`, async function () {
      this.timeout(660_000);
      const favoured = { ...served.gateway, key: await served.createKey({ priority: 10 }) };
      await pollUntil(async () => (await ask(favoured, CHAT, talk(1))).status === 200, 'the key to be known');
      const [one, ...others] = Array.from({ length: PLACES }, () => occupy(served));
      const until = (count: () => Promise<number>, expected: number) =>
        pollUntil(
          async () => (await count()) === expected,
          `${count.name} to be ${expected}`,
          BUSY_TIMEOUT_MS,
        );
      try {
        await until(served.countRunning, PLACES);
        const order: string[] = [];
        const queue = async (target: Target, name: string, fields: Fields = {}) => {
          const { status, body } = await ask(target, path, { ...talk(4, path), ...fields });
          expect(status, JSON.stringify(body)).to.equal(200);
          order.push(name);
        };
        // For the engine, lower numbers come first.
        const ordinary = queue(served.gateway, 'ordinary', { priority: -1_000_000 });
        await until(served.countWaiting, 1);
        const preferred = queue(favoured, 'preferred');
        await until(served.countWaiting, 2);
        // The others keep their slots.
        one!.leave();
        await preferred;
        expect(order).to.deep.equal(['preferred']);
        others[0]!.leave();
        await ordinary;
      } finally {
        for (const other of others) other.leave();
        await until(served.countRunning, 0);
      }
    });
});
