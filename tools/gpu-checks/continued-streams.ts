/** With `resilience.continueStreams`: chats whose engine is killed on its GPU continue at another replica. */
import { CONTAINERS } from '../../api/names.ts';
import { type ChatStream, CONTENT, isWhole, openChat } from './chat-streams.ts';
import { readDeployment, selectPods } from './deployment.ts';
import { failed, judge, kubectl, NO_CLUSTER, type Outcome, skipped } from './endpoint.ts';

/** So that some are surely at the engine that is killed. */
const STREAMS_PER_POD = 4;
const TOKENS = 1_000;
const RESTART_TIMEOUT = '30m';
/** All of the engine but its first process, which ends by itself once those that compute are gone. */
const KILL = 'kill -9 -1';

const openStory = (fields: object): Promise<ChatStream> =>
  openChat(
    {
      messages: [{ role: 'user', content: 'Write a long story about a harbor.' }],
      max_tokens: TOKENS,
      ignore_eos: true,
      ...fields,
    },
    { start: CONTENT },
  );

async function listContinued(stories: ChatStream[]): Promise<ChatStream[]> {
  const logs = await kubectl('logs', ...selectPods(), '-c', CONTAINERS.gateway, '--since=10m', '--tail=-1');
  const lines = logs!.split('\n').filter((line) => line.includes('continuing a broken stream'));
  return stories.filter(({ id }) => lines.some((line) => line.includes(id)));
}

export async function checkContinued(): Promise<Outcome> {
  const deployment = await readDeployment();
  if (!deployment) return NO_CLUSTER;
  const { spec, status } = deployment;
  if (!spec.resilience?.continueStreams) return skipped('set spec.resilience.continueStreams');
  const names = (await kubectl('get', 'pods', ...selectPods(), '-o', 'name'))!.split('\n').filter(Boolean);
  if (names.length < 2) return skipped('it takes two replicas, one of which goes on');
  // Engines cannot continue partial reasoning.
  const fields = status.engine?.reasoningParser && { chat_template_kwargs: { enable_thinking: false } };
  const count = STREAMS_PER_POD * names.length;
  const stories = await Promise.all(Array.from({ length: count }, () => openStory({ ...fields })));
  await Promise.all(stories.map(({ begun }) => begun));
  const pod = names.at(-1)!;
  const refusal = await kubectl('exec', pod, '-c', CONTAINERS.engine, '--', 'sh', '-c', KILL).then(
    () => '',
    (error: Error) => `; ${error.message.trim()}`,
  );
  const texts = await Promise.allSettled(stories.map(({ text }) => text));
  const whole = texts.filter((text) => text.status === 'fulfilled' && isWhole(text.value));
  const continued = await listContinued(stories);
  await kubectl('wait', '--for=condition=Ready', pod, `--timeout=${RESTART_TIMEOUT}`);
  const detail = `${whole.length} of ${count} whole, ${continued.length} of them continued`;
  if (continued.length === 0) return failed(`${detail}: the engine was not killed amid a stream${refusal}`);
  return judge(whole.length === count, detail);
}
