/** What the answers of a chat hold: JSON by a schema, reasoning apart from the answer, log probabilities, choices. */
import { z } from 'zod';
import { type Choice, chat } from './chat.ts';
import { CONTENT, streamChat } from './chat-streams.ts';
import { readDeployment } from './deployment.ts';
import { type Checks, failed, judge, MAX_REASON, type Outcome, skipped } from './endpoint.ts';

/** A model that thinks first needs them. */
const MAX_TOKENS = 4_096;
const ANSWERS = 4;
const RIVALS = 2;
const FEW_TOKENS = 16;
/** Tolerance of a logarithm that is 0. */
const ROUNDING = 0.001;
/** Engines pass over what a model's template does not know. */
const THINKING = { chat_template_kwargs: { enable_thinking: true, thinking: true } };

/** Bounded, so that any answer ends, also that of a model that has learned nothing. */
const CITY = z.strictObject({
  name: z.string().max(40),
  continent: z.enum(['Africa', 'America', 'Asia', 'Australia', 'Europe']),
  isCapital: z.boolean(),
  sights: z
    .array(z.strictObject({ name: z.string().max(40), yearBuilt: z.int().min(1).max(2_100) }))
    .min(2)
    .max(4),
});

const ask = (content: string): object => ({ messages: [{ role: 'user', content }] });
const quote = (text: string | null): string => JSON.stringify(text?.slice(0, MAX_REASON) ?? null);

/** Why it does not hold; undefined: it does. */
function findBreach({ message: { content }, finish_reason }: Choice): string | undefined {
  try {
    const { error } = CITY.safeParse(JSON.parse(content ?? ''));
    return error && `${z.prettifyError(error)} in ${quote(content)}`;
  } catch {
    return `no JSON, but ${quote(content)} with finish_reason ${finish_reason}`;
  }
}

/** Nothing but the schema asks for JSON. */
async function checkSchema(): Promise<Outcome> {
  const body = {
    ...ask('Tell me about Paris and two of its sights.'),
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'city', strict: true, schema: z.toJSONSchema(CITY) },
    },
    temperature: 1,
    max_tokens: MAX_TOKENS,
  };
  const answers = await Promise.all(Array.from({ length: ANSWERS }, () => chat(body)));
  const breaches = answers.flatMap(({ choices }) => findBreach(choices[0]!) ?? []);
  const detail = `${ANSWERS - breaches.length} of ${ANSWERS} answers hold it`;
  return breaches.length === 0 ? judge(true, detail) : failed(`${detail}: ${breaches[0]}`);
}

const readReasoning = ({ reasoning, reasoning_content }: Choice['message']): string =>
  reasoning ?? reasoning_content ?? '';

async function checkReasoning(): Promise<Outcome> {
  const body = { ...ask('What is 17 times 23?'), ...THINKING, max_tokens: MAX_TOKENS };
  const { message, finish_reason } = (await chat(body)).choices[0]!;
  const reasoning = readReasoning(message);
  const parser = (await readDeployment())?.status.engine?.reasoningParser;
  const isMixed = /<\/?think>/.test(message.content ?? '');
  if (!parser && !reasoning)
    return skipped(`it tells no reasoning${isMixed ? ', but has <think> in its answer: set a parser' : ''}`);
  const { text } = await streamChat(body);
  const isStreamed = /"reasoning(_content)?": ?"[^"]/.test(text) && CONTENT.test(text);
  return judge(
    reasoning !== '' && !!message.content?.trim() && !isMixed && isStreamed && !/<\/?think>/.test(text),
    `${reasoning.length} characters of reasoning, then ${quote(message.content)} (${finish_reason}); ` +
      `its stream has ${isStreamed ? 'both' : 'not both'}${parser ? `; parser ${parser}` : ''}`,
  );
}

async function checkLogprobs(): Promise<Outcome> {
  const { choices, usage } = await chat({
    logprobs: true,
    top_logprobs: RIVALS,
    max_tokens: FEW_TOKENS,
    ignore_eos: true,
  });
  const tokens = choices[0]!.logprobs?.content ?? [];
  const good = tokens.filter(
    ({ logprob, top_logprobs }) => logprob < ROUNDING && top_logprobs.length === RIVALS,
  );
  return judge(
    tokens.length > 0 && good.length === tokens.length,
    `${good.length} of ${tokens.length} tokens have theirs, and ${RIVALS} of the likeliest; ${usage.completion_tokens} were made`,
  );
}

async function checkChoices(): Promise<Outcome> {
  const { choices } = await chat({
    ...ask('Name an animal, and nothing else.'),
    n: ANSWERS,
    temperature: 1,
    max_tokens: FEW_TOKENS,
  });
  const indexes = new Set(choices.map(({ index }) => index));
  const texts = new Set(choices.map(({ message }) => message.content || readReasoning(message)));
  return judge(
    choices.length === ANSWERS && indexes.size === ANSWERS && !texts.has(''),
    `${choices.length} of ${ANSWERS}, ${texts.size} of them different`,
  );
}

export const ANSWER_CHECKS: Checks = {
  'a JSON schema is held': checkSchema,
  'reasoning is in a field of its own': checkReasoning,
  'log probabilities are there': checkLogprobs,
  'several choices are made': checkChoices,
};
