/** With a second key of a higher `spec.priority`: its request goes before those that came earlier and still wait. */
import { setTimeout as sleep } from 'node:timers/promises';
import { streamChat } from './chat-streams.ts';
import { failed, findReason, judge, ms, type Outcome, skipped } from './endpoint.ts';
import { planLongPrompts } from './load.ts';
import { type Messages, preparePrompts } from './prompts.ts';

const { PRIORITY_KEY } = process.env;
const SHORT_REQUESTS = 4;
/** Fewer show no order. */
const MIN_WAITING = 3;
/** Until they have come to the engine. */
const ARRIVAL_MS = 500;

const SHORT: Messages = { messages: [{ role: 'user', content: 'Say hello.' }] };

/** Waits in the engine or at the gateway: one at a time reads a long prompt, however many an engine answers at once. */
export async function checkPriority(): Promise<Outcome> {
  if (!PRIORITY_KEY)
    return skipped('set PRIORITY_KEY to a key whose spec.priority is higher than that of KEY');
  const prompts = await preparePrompts();
  if (typeof prompts === 'string') return skipped(prompts);
  const { count, tokens } = planLongPrompts(prompts.context);
  const leaving = new AbortController();
  const firstBegun = Promise.withResolvers<void>();
  let begun = 0;
  let refused = 0;
  const ask = (messages: Messages) =>
    streamChat(
      { ...messages, max_tokens: 16 },
      {
        signal: leaving.signal,
        // One that asks again has lost its turn.
        isHasty: true,
        onBegin: () => {
          begun++;
          firstBegun.resolve();
        },
      },
    ).catch((error: Error) => {
      refused++;
      if (error.name !== 'AbortError' && !error.message.includes('replica_saturated')) throw error;
    });
  const long = Array.from({ length: count }, () => ask(prompts.write(tokens)));
  await Promise.race([firstBegun.promise, Promise.allSettled(long)]);
  const short = Array.from({ length: SHORT_REQUESTS }, () => ask(SHORT));
  const ended = Promise.allSettled([...long, ...short]);
  await sleep(ARRIVAL_MS);
  const begunBefore = begun;
  const waiting = count + SHORT_REQUESTS - begun - refused;
  let left = 0;
  const urgent = await streamChat(
    { ...SHORT, max_tokens: 16 },
    {
      key: PRIORITY_KEY,
      onBegin: () => {
        left = waiting - (begun - begunBefore);
        leaving.abort();
      },
    },
  ).finally(() => leaving.abort());
  const reason = findReason(await ended);
  if (reason) return failed(reason);
  if (waiting < MIN_WAITING) return skipped(`only ${waiting} waited: the engine was not full`);
  return judge(
    left > waiting / 2,
    `its first token came after ${ms(urgent.firstMs)}, before ${left} of ${waiting} that waited when it came`,
  );
}
