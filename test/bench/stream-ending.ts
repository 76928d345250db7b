/** How a streamed chat ended. Load clients of others count each stream that ends as a good one, whatever its end. Pure. */

export type StreamEnding = 'whole' | 'error' | 'aborted' | 'cut';

/** Holds the last frames of a stream, or its error. */
export const ENDING_LENGTH = 4_096;

const ERROR = /^(?:event: ?error|data: ?\{"(?:error"|object": ?"error"|type": ?"error"))/m;
const ABORT = /"finish_reason": ?"abort"/;
const FINISH = /"finish_reason": ?"/;
/** The last, empty chunk may follow. */
const DONE = /data: ?\[DONE\]\s*(?:0\s*)?$/;

/** `text`: the stream's events, or their last ENDING_LENGTH characters, with or without the framing of chunks. */
export function judgeEnding(text: string): StreamEnding {
  if (ERROR.test(text)) return 'error';
  if (ABORT.test(text)) return 'aborted';
  return FINISH.test(text) && DONE.test(text) ? 'whole' : 'cut';
}
