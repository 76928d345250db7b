/** Converts the transcript chunks of vLLM and SGLang to OpenAI's events. */
import { isObject, type JSONObject } from '../../kit/json.ts';
import type { EventConversion } from '../engine/event-answer.ts';
import { ApiError } from '../http/error-response.ts';

/** Limit of one response. */
const MAX_CHARACTERS = 8 * 1024 * 1024;

/** `seconds`: of the audio. */
export function convertTranscript(seconds: number): EventConversion {
  let text = '';
  return {
    convert: (chunk) => {
      const delta = readDelta(chunk);
      if (delta === '') return [];
      text += delta;
      if (text.length > MAX_CHARACTERS) throw new ApiError('upstream_error', 'The transcript is too long.');
      return [{ type: 'transcript.text.delta', delta }];
    },
    isLast: ({ type }) => type === 'transcript.text.done',
    finish: () => [
      { type: 'transcript.text.done', text, usage: { type: 'duration', seconds: Math.ceil(seconds) } },
    ],
  };
}

/** From a chunk, or an engine that sends OpenAI's events. */
function readDelta({ choices, type, delta }: JSONObject): string {
  if (type === 'transcript.text.delta') return typeof delta === 'string' ? delta : '';
  const [choice] = Array.isArray(choices) ? choices : [];
  if (!isObject(choice) || !isObject(choice.delta)) return '';
  return typeof choice.delta.content === 'string' ? choice.delta.content : '';
}
