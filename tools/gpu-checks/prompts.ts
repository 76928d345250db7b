/** Prompts of a given length, which no prefix cache has. */
import { randomUUID } from 'node:crypto';
import { chat } from './chat.ts';
import { readModel } from './endpoint.ts';

const SENTENCE = 'The ship came into the harbor at dawn. ';
const QUESTION = 'When did the ship come?';
/** Two lengths: what a template adds is in both. */
const SAMPLES = [2, 22] as const;
/** Samples fit into it. */
const MIN_CONTEXT = 1_024;

export type Messages = { messages: { role: 'user'; content: string }[] };

export interface Prompts {
  /** Tokens of a request. */
  context: number;
  /** One of about so many tokens. */
  write(tokens: number): Messages;
}

const ask = (sentences: number): Messages => ({
  messages: [{ role: 'user', content: `${randomUUID()}: ${SENTENCE.repeat(sentences)}${QUESTION}` }],
});

/** Why there are none: the engine does not report its context, or it is short. */
export async function preparePrompts(): Promise<Prompts | string> {
  const { max_model_len: context } = await readModel();
  if (!context) return 'the endpoint tells no max_model_len';
  if (context < MIN_CONTEXT) return `its context of ${context} tokens is too short`;
  const [few, many] = await Promise.all(SAMPLES.map((count) => chat({ ...ask(count), max_tokens: 1 })));
  const perSentence = (many!.usage.prompt_tokens - few!.usage.prompt_tokens) / (SAMPLES[1] - SAMPLES[0]);
  return { context, write: (tokens) => ask(Math.floor(tokens / perSentence)) };
}
