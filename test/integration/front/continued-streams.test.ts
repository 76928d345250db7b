import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import { callChat, type StreamedChat, streamChat } from '../../support/chat.ts';
import { API_KEY, describeModel, type Engine, startEngine } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { useReplicas } from '../../support/replica-stack.ts';

const ADDRESSES = ['127.0.0.2', '127.0.0.3'];
const TOKENS = 60;
const SLOW = { ttftMs: 50, itlMs: 25, tokens: TOKENS, like: null };
const BODY = { stream_options: { include_usage: true }, max_tokens: TOKENS };

interface Whole {
  content: string;
  ids: number;
  finishes: string[];
  usage: { prompt_tokens: number; completion_tokens: number } | null;
  isWhole: boolean;
  hasError: boolean;
}

async function readWhole(stream: StreamedChat): Promise<Whole> {
  const { text, isWhole } = await stream.ended;
  const payloads = text
    .split('\n\n')
    .flatMap((frame) =>
      frame.startsWith('data: {') ? [JSON.parse(frame.slice(6)) as Record<string, never>] : [],
    );
  const choices = payloads.flatMap(
    ({ choices = [] }) => choices as { delta: { content?: string }; finish_reason: string | null }[],
  );
  return {
    content: choices.map(({ delta }) => delta.content ?? '').join(''),
    ids: new Set(payloads.map(({ id }) => id)).size,
    finishes: choices.flatMap(({ finish_reason }) => finish_reason ?? []),
    usage: payloads.findLast(({ usage }) => usage)?.usage ?? null,
    isWhole,
    hasError: payloads.some(({ error }) => error),
  };
}

describe('streams of replicas whose engine dies', () => {
  const config = describeModel({ concurrency: 4, resilience: { continueStreams: true } });
  const { namespace } = config;
  // Ports of their own, at which they can start again.
  const stack = useReplicas(config, ADDRESSES, { startEngine: startAt });
  const { engines, replicas } = stack;
  async function startAt(address: string): Promise<Engine> {
    const before = engines[ADDRESSES.indexOf(address)];
    const port = before ? new URL(before.url).port : '0';
    return startEngine({ SIMULATOR_HOST: address, SIMULATOR_PORT: port });
  }
  const restart = async (index: number) => {
    engines[index] = await startAt(ADDRESSES[index]!);
    await engines[index]!.control(SLOW);
  };
  const untilReady = (count: number) =>
    pollUntil(async () => {
      const beats = await stack.readHeartbeats();
      return beats.filter(({ ready, inflight }) => ready && inflight === 0).length === count;
    }, `${count} ready and idle replicas`);
  const readTokens = async () => {
    const key = workKeys(namespace).tpd(hashApiKey(API_KEY), Math.floor(Date.now() / 86_400_000));
    return Number((await stack.redis.get(key)) ?? 0);
  };
  const readUnbroken = async () => {
    const response = await callChat(replicas[0]!.url, { body: { max_tokens: TOKENS } });
    const { choices, usage } = (await response.json()) as {
      choices: { message: { content: string } }[];
      usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
    };
    return { content: choices[0]!.message.content, usage };
  };
  const expectWhole = async (stream: StreamedChat, unbroken: Awaited<ReturnType<typeof readUnbroken>>) => {
    const whole = await readWhole(stream);
    expect(whole).to.deep.include({
      content: unbroken.content,
      ids: 1,
      finishes: ['stop'],
      isWhole: true,
      hasError: false,
    });
    expect(whole.usage).to.include({
      prompt_tokens: unbroken.usage.prompt_tokens,
      completion_tokens: unbroken.usage.completion_tokens,
    });
  };

  beforeEach(async () => {
    await stack.control(SLOW);
    await untilReady(2);
  });

  it('go on at the peer after kill -9, equal to unbroken ones, and are charged once', async () => {
    const unbroken = await readUnbroken();
    await pollUntil(async () => (await readTokens()) > 0, 'the settlement');
    const before = await readTokens();
    const streams = await Promise.all([1, 2, 3].map(() => streamChat(replicas[0]!.url, { body: BODY })));
    await pollUntil(() => streams.every((stream) => stream.frames() > 10), 'streams in the middle');
    await engines[0]!.stop('SIGKILL');
    for (const stream of streams) await expectWhole(stream, unbroken);
    await pollUntil(async () => (await readTokens()) > before, 'the settlement');
    await pollUntil(
      async () => (await readTokens()) === before + 3 * unbroken.usage.total_tokens,
      'the tokens of three answers',
    );
    expect(await replicas[0]!.metrics()).to.match(
      /^berth_gateway_continued_streams_total\{[^}]*outcome="completed"[^}]*\} 3$/m,
    );
    await replicas[0]!.program.waitFor(/continuing a broken stream/);
    await restart(0);
  });

  it('go on here when it is the peer’s engine that dies', async () => {
    const unbroken = await readUnbroken();
    const held = await Promise.all([1, 2, 3, 4].map(() => streamChat(replicas[0]!.url, { body: BODY })));
    const forwarded = await streamChat(replicas[0]!.url, { body: BODY });
    await pollUntil(() => forwarded.frames() > 10, 'a stream at the peer');
    await engines[1]!.stop('SIGKILL');
    for (const stream of [...held, forwarded]) await expectWhole(stream, unbroken);
    await restart(1);
  });

  it('go on whatever an engine does with them at SIGTERM', async () => {
    const unbroken = await readUnbroken();
    await engines[0]!.control({ ...SLOW, like: 'vllm' });
    const streams = await Promise.all([1, 2, 3].map(() => streamChat(replicas[0]!.url, { body: BODY })));
    await pollUntil(() => streams.every((stream) => stream.frames() > 1), 'streams in the middle');
    await engines[0]!.stop('SIGTERM');
    for (const stream of streams) await expectWhole(stream, unbroken);
    await restart(0);
  });

  it('go on at their own engine when it is back, where there is no peer', async () => {
    const unbroken = await readUnbroken();
    await engines[1]!.stop('SIGKILL');
    await untilReady(1);
    const stream = await streamChat(replicas[0]!.url, { body: BODY });
    await pollUntil(() => stream.frames() > 10, 'the stream in the middle');
    await engines[0]!.stop('SIGKILL');
    await restart(0);
    await expectWhole(stream, unbroken);
    await restart(1);
  });
});
