/** POST /v1/completions. */
import {
  type Answer,
  type Frame,
  makeAnswerId,
  type PlanContext,
  readUnixSeconds,
  sumUsage,
  type Usage,
} from './answer.ts';
import { refuse } from './errors.ts';
import { type Fields, readBoolean, readInteger } from './fields.ts';
import { describeCompletionTokens } from './logprobs.ts';
import type { PrefixCache } from './prefix-cache.ts';
import { hashText } from './random.ts';
import {
  boundSampling,
  type Choice,
  createChoiceRandom,
  fitContext,
  generateProse,
  readSampling,
} from './sampling.ts';
import { splitTokens } from './text.ts';
import { readInputs, type TextInput } from './text-input.ts';

interface CompletionChoice extends Choice {
  /** The prompt, repeated before the answer; empty unless asked for. */
  echo: string;
}

interface Completion {
  id: string;
  created: number;
  model: string;
  choices: CompletionChoice[];
  topLogprobs: number | null;
  usage: Usage;
  withUsage: boolean;
}

const MAX_CHOICES = 2048;
const MAX_ECHO_CHARACTERS = 16 * 1024 * 1024;

export function planCompletion(body: Fields, context: PlanContext): Answer {
  const prompts = readInputs(body, 'prompt');
  const echo = readBoolean(body, 'echo');
  const topLogprobs = readInteger(body, 'logprobs', { min: 0, max: 20 }) ?? null;
  const requested = readSampling(body, echo ? 0 : 1);
  const count = prompts.length * requested.n;
  if (count > MAX_CHOICES)
    throw refuse(`n times the prompts must be at most ${MAX_CHOICES}, got ${count}.`, 'n');
  if (echo) checkEcho(prompts.reduce((sum, { text }) => sum + text.length, 0) * requested.n, topLogprobs);
  const fitting = prompts.reduce((sampling, { tokens }) => fitContext(tokens, sampling, context), requested);
  const sampling = boundSampling(fitting, count, topLogprobs !== null);

  const choices = prompts.flatMap(({ text }) => {
    const promptHash = hashText(text);
    return Array.from({ length: sampling.n }, (_, index) => ({
      ...generateProse(createChoiceRandom(promptHash, sampling.seed, index), sampling, context.tokens),
      echo: echo ? text : '',
    }));
  });
  const completion: Completion = {
    id: makeAnswerId('cmpl'),
    created: readUnixSeconds(),
    model: context.model,
    choices,
    topLogprobs,
    usage: sumUsage(
      prompts.reduce((sum, { tokens }) => sum + tokens, 0),
      choices.reduce((sum, { tokens }) => sum + tokens.length, 0),
      context.cache && enterAll(context.cache, prompts),
    ),
    withUsage: sampling.withUsage,
  };
  return {
    steps: Math.max(...choices.map(({ tokens }) => tokens.length)),
    usage: completion.usage,
    buildBody: () => buildCompletionBody(completion),
    frames: sampling.isStreamed ? () => streamCompletion(completion) : null,
  };
}

const enterAll = (cache: PrefixCache, prompts: readonly TextInput[]): number =>
  prompts.reduce((sum, { text, tokens }) => sum + cache.enter(text, tokens), 0);

function checkEcho(characters: number, topLogprobs: number | null): void {
  const most = topLogprobs === null ? MAX_ECHO_CHARACTERS : MAX_ECHO_CHARACTERS / 256;
  if (characters > most)
    throw refuse(`echo repeats at most ${most} characters, asked for ${characters}.`, 'echo');
}

const buildCompletionBody = (completion: Completion): object => ({
  ...head(completion),
  choices: completion.choices.map(({ tokens, echo, finish, stop }, index) => ({
    index,
    ...(stop !== undefined && { stop_reason: stop }),
    text: echo + tokens.join(''),
    logprobs: describe(completion, [...splitTokens(echo), ...tokens], 0, echo !== ''),
    finish_reason: finish,
  })),
  usage: completion.usage,
});

/** Choices take turns, a token each; an echoed prompt comes first, in one chunk. */
function* streamCompletion(completion: Completion): Generator<Frame> {
  const frame = (step: number, choice: object): Frame => ({
    step,
    data: { ...head(completion), choices: [choice] },
  });
  const offsets = completion.choices.map(({ echo }) => echo.length);
  for (const [index, { echo }] of completion.choices.entries())
    if (echo !== '') {
      const logprobs = describe(completion, splitTokens(echo), 0, true);
      yield frame(0, { index, text: echo, logprobs, finish_reason: null });
    }
  const steps = Math.max(...completion.choices.map(({ tokens }) => tokens.length));
  for (let step = 0; step <= steps; step++)
    for (const [index, { tokens, finish }] of completion.choices.entries()) {
      const text = tokens[step];
      if (text !== undefined) {
        const logprobs = describe(completion, [text], offsets[index]!, false);
        offsets[index]! += text.length;
        yield frame(step, { index, text, logprobs, finish_reason: null });
      }
      if (step === Math.max(tokens.length - 1, 0))
        yield frame(step, { index, text: '', logprobs: null, finish_reason: finish });
    }
  if (completion.withUsage)
    yield { step: steps, data: { ...head(completion), choices: [], usage: completion.usage } };
}

const describe = (
  { topLogprobs }: Completion,
  tokens: string[],
  offset: number,
  isFirstOfPrompt: boolean,
): object | null =>
  topLogprobs === null
    ? null
    : describeCompletionTokens({ tokens, top: topLogprobs, offset, isFirstOfPrompt });

const head = (completion: Completion): object => ({
  id: completion.id,
  object: 'text_completion',
  created: completion.created,
  model: completion.model,
});
