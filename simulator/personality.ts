/** The engine that the simulator imitates: differences between real ones that clients must handle. */
import type { EngineError } from './errors.ts';
import { describeLlamaError, LLAMA_CPP_ANSWERS } from './llama-cpp-answers.ts';
import { type MediaHabits, PLAIN_MEDIA, SGLANG_DIFFUSION_MEDIA, VLLM_OMNI_MEDIA } from './media-habits.ts';
import { nameErrorOfTEI, TEI_BOUNDS } from './tei.ts';
import type { AnswerHabits, TextHabits } from './text-habits.ts';
import { VLLM_ANSWERS, VLLM_TEXT } from './vllm.ts';

export const ENGINES = ['vllm', 'sglang', 'tei', 'llama-cpp', 'vllm-omni', 'sglang-diffusion'] as const;
export type EngineName = (typeof ENGINES)[number];

export interface Personality {
  /** The body of an error: JSON, or plain text. */
  describeError: (error: EngineError) => object | string;
  /**
   * When the health check answers: at once, behind the calls being worked on, or once the engine has given output after
   * the check arrived (a second at the earliest).
   */
  health: 'at-once' | 'behind-work' | 'after-output';
  /** Tokens that one frame of a stream carries, as where an engine's server lags behind its model. */
  tokensPerFrame: number;
  /** Vectors as bytes, which a header describes. */
  embedsBytes: boolean;
  /** Inputs of one call, and of all in flight; null: no limit. */
  bounds: { inputs: number | null; permits: number | null };
  /** True if it embeds conversations as well. */
  embedsMessages: boolean;
  /** Which of the texts fit: as Jina has it, or as a bare list. */
  rerankAnswer: 'object' | 'list';
  /** Tokens: in the words of vLLM, or of TEI, which has a route of its own for the way back. */
  tokenRoutes: 'vllm' | 'tei';
  /** Responses: all that their schema requires, or little beside the output, and events without numbers. */
  responses: 'whole' | 'bare';
  /**
   * Calls in flight at SIGTERM: they end, with the port closed or with an open one that takes more, or are aborted in one of the ways
   * that occur, or are kept forever without a response.
   */
  atSIGTERM: 'finish' | 'serve-on' | 'abort' | 'hang';
  media: MediaHabits;
  /** Null: the simulator's own. */
  text: TextHabits | null;
  /** The same. */
  answers: AnswerHabits | null;
}

const PLAIN: Personality = {
  describeError: (error) => error.toBody(),
  health: 'at-once',
  tokensPerFrame: 1,
  embedsBytes: false,
  embedsMessages: true,
  rerankAnswer: 'object',
  tokenRoutes: 'vllm',
  responses: 'whole',
  bounds: { inputs: null, permits: null },
  atSIGTERM: 'finish',
  media: PLAIN_MEDIA,
  text: null,
  answers: null,
};

const PERSONALITIES: Record<EngineName, Personality> = {
  vllm: {
    ...PLAIN,
    tokensPerFrame: 14,
    embedsBytes: true,
    atSIGTERM: 'abort',
    text: VLLM_TEXT,
    answers: VLLM_ANSWERS,
  },
  sglang: {
    ...PLAIN,
    describeError: ({ message, type, param, status }) => ({
      object: 'error',
      message,
      type,
      param,
      code: status,
    }),
    health: 'after-output',
    embedsMessages: false,
    rerankAnswer: 'list',
    // SGLang 0.5.18, srt/managers/tokenizer_manager.py (sigterm_watchdog) and srt/entrypoints/http_server.py (health_generate).
    atSIGTERM: 'serve-on',
  },
  tei: {
    ...PLAIN,
    describeError: ({ message, status }) => ({ message, code: status, type: nameErrorOfTEI(status) }),
    health: 'behind-work',
    embedsMessages: false,
    tokenRoutes: 'tei',
    bounds: TEI_BOUNDS,
    // router/src/http/server.rs: axum::serve with_graceful_shutdown, without a limit of its own.
    atSIGTERM: 'finish',
  },
  'llama-cpp': {
    ...PLAIN,
    describeError: describeLlamaError,
    embedsMessages: false,
    responses: 'bare',
    answers: LLAMA_CPP_ANSWERS,
    atSIGTERM: 'hang',
  },
  'vllm-omni': { ...PLAIN, atSIGTERM: 'hang', media: VLLM_OMNI_MEDIA },
  'sglang-diffusion': {
    ...PLAIN,
    describeError: ({ message, status }) => (status === 500 ? 'Internal Server Error' : { detail: message }),
    // SGLang 0.5.18, multimodal_gen/runtime/launch_server.py: uvicorn.run without a limit, then entrypoints/http_server.py drops videos.
    atSIGTERM: 'finish',
    media: SGLANG_DIFFUSION_MEDIA,
  },
};

/** Null: the simulator's own, which is vLLM's without its bad habits. */
export const personalityOf = (like: EngineName | null): Personality =>
  like === null ? PLAIN : PERSONALITIES[like];
