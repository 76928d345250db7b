import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import { publishDeployment } from '../../../redis/publication/publication.ts';
import { callChat, streamChat } from '../../support/chat.ts';
import { API_KEY, describeModel, type ModelReplica, startEngine } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { useReplicas } from '../../support/replica-stack.ts';

const ADDRESSES = ['127.0.0.2', '127.0.0.3', '127.0.0.4'];

interface Message {
  role: string;
  content: string;
}
interface ChatAnswer {
  choices: { message: Message }[];
  usage: { prompt_tokens: number; total_tokens: number; prompt_tokens_details: { cached_tokens: number } };
}

describe('requests that begin alike', () => {
  const config = describeModel({ concurrency: 4 });
  const { namespace } = config;
  const stack = useReplicas(config, ADDRESSES, {
    startEngine: () => startEngine({ SIMULATOR_CACHE_TOKENS: '100000' }),
  });
  const { engines, replicas, countRequests } = stack;

  beforeEach(() => stack.untilPeersKnown());
  /** How many requests each engine has had since. */
  const countSince = async (before: number[]) =>
    (await countRequests()).map((count, index) => count - before[index]!);
  const begin = (about: string): Message[] => [
    { role: 'system', content: `You know all about ${about}. `.repeat(40) },
    { role: 'user', content: `Tell me of ${about}.` },
  ];
  const ask = async (replica: ModelReplica, messages: Message[], headers = {}): Promise<ChatAnswer> => {
    const response = await callChat(replica.url, { body: { messages }, headers });
    expect(response.status).to.equal(200);
    return (await response.json()) as ChatAnswer;
  };

  it('go to the replica that has their beginning in its cache, wherever each turn of a conversation arrives', async () => {
    let found = 0;
    /** Whether each turn ran at the same engine, and found all turns before in its cache. */
    const converse = async (about: string): Promise<boolean> => {
      const before = await countRequests();
      let messages = begin(about);
      let isCached = true;
      for (let turn = 0; turn < 6; turn++) {
        const { choices, usage } = await ask(replicas[turn % 3]!, messages);
        const cached = usage.prompt_tokens_details.cached_tokens;
        if (turn > 0) isCached &&= cached > usage.prompt_tokens - 80;
        found += cached;
        messages = [...messages, choices[0]!.message, { role: 'user', content: `And then? (${turn})` }];
      }
      return isCached && (await countSince(before)).includes(6);
    };
    for (const about of ['harbours', 'bridges', 'gardens', 'rivers']) {
      if (await converse(about)) continue;
      // On a busy machine one may not answer in time: it is passed over until its next heartbeat.
      await stack.untilPeersKnown(3);
      expect(await converse(`old ${about}`), about).to.equal(true);
    }
    const metrics = await Promise.all(replicas.map((replica) => replica.metrics()));
    const sum = (pattern: RegExp) =>
      metrics.reduce((total, text) => total + Number(pattern.exec(text)?.[1] ?? 0), 0);
    expect(sum(/^berth_gateway_cached_input_tokens_total(?:\{[^}]*\})? (\d+)/m)).to.equal(found);
    expect(sum(/^berth_gateway_prefix_choices_total\{[^}]*choice="own"[^}]*\} (\d+)/m)).to.be.above(0);
    expect(sum(/^berth_gateway_prefix_choices_total\{[^}]*choice="peer"[^}]*\} (\d+)/m)).to.be.above(0);
  });

  it('are counted once against the limits of their key, and streamed as elsewhere', async () => {
    const key = workKeys(namespace).tpd(hashApiKey(API_KEY), Math.floor(Date.now() / 86_400_000));
    const readTokens = async () => Number((await stack.redis.get(key)) ?? 0);
    const settled = await readTokens();
    const answers = await Promise.all(replicas.map((replica) => ask(replica, begin('mountains'))));
    const tokens = answers.reduce((sum, { usage }) => sum + usage.total_tokens, 0);
    await pollUntil(async () => (await readTokens()) >= settled + tokens, 'the settlement');
    expect(await readTokens()).to.equal(settled + tokens);

    const streams = await Promise.all(
      replicas.map(({ url }) => streamChat(url, { body: { messages: begin('mountains') } })),
    );
    for (const { ended } of streams) expect((await ended).isWhole).to.equal(true);
  });

  it('use all replicas when they are more than one has places for', async () => {
    // So long that all twelve are there at once, on a busy machine as well.
    await Promise.all(engines.map((engine) => engine.control({ ttftMs: 2_000 })));
    const before = await countRequests();
    const messages = begin('cities');
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => callChat(replicas[index % 3]!.url, { body: { messages } })),
    );
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(12).fill(200));
    expect(await countSince(before)).to.deep.equal([4, 4, 4]);
    await Promise.all(engines.map((engine) => engine.control({ ttftMs: 0 })));
  });

  it('stay where they arrive once the deployment says so, at once', async () => {
    await publishDeployment(stack.redis, { ...config, balance: undefined });
    const messages = begin('lakes');
    await pollUntil(async () => {
      const before = await countRequests();
      for (const replica of replicas) await ask(replica, messages);
      return (await countSince(before)).every((count) => count === 1);
    }, 'the change');
    await publishDeployment(stack.redis, config);
    await pollUntil(async () => {
      const before = await countRequests();
      for (const replica of replicas) await ask(replica, messages);
      return (await countSince(before)).includes(3);
    }, 'the change back');
  });

  it('go on at once when the replica that they are led to is killed', async () => {
    const before = await countRequests();
    const messages = begin('deserts');
    await ask(replicas[0]!, messages);
    const owner = (await countSince(before)).indexOf(1);
    const others = replicas.filter((_, index) => index !== owner);
    await replicas[owner]!.stop('SIGKILL');
    for (let index = 0; index < 6; index++) await ask(others[index % 2]!, messages);
    const [one, two] = (await countSince(before)).filter((_, index) => index !== owner);
    expect(one! + two!).to.equal(6);
  });
});
