/** Transcripts in the formats of OpenAI's API. */
import { isObject, type JSONObject } from '../../kit/json.ts';

export const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const;
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

export interface Transcript {
  /** In OpenAI's schema. */
  answer: JSONObject;
  /** Null if the engine does not report it. */
  seconds: number | null;
}

/** Null if it is none. */
export function readTranscript(said: unknown): Transcript | null {
  if (!isObject(said) || typeof said.text !== 'string') return null;
  const seconds =
    readSeconds(isObject(said.usage) ? said.usage.seconds : undefined) ?? readSeconds(said.duration);
  // vLLM reports it as a string.
  const duration = readSeconds(said.duration);
  return { answer: { ...said, ...(duration !== null && { duration }) }, seconds };
}

/** More than any recording has. */
const MAX_SECONDS = 1_000_000;

function readSeconds(value: unknown): number | null {
  const seconds = typeof value === 'string' ? Number.parseFloat(value) : value;
  return typeof seconds === 'number' && seconds >= 0 && seconds <= MAX_SECONDS ? seconds : null;
}

interface Cue {
  start: number;
  end: number;
  text: string;
}

/** What the client is sent; `answer` for JSON formats. */
export function writeTranscript(
  answer: JSONObject,
  format: TranscriptFormat,
): { text: string; type: string } | null {
  switch (format) {
    case 'text':
      return { text: `${answer.text}\n`, type: 'text/plain; charset=utf-8' };
    case 'srt':
      return { text: writeSRT(listCues(answer)), type: 'application/x-subrip; charset=utf-8' };
    case 'vtt':
      return { text: writeVTT(listCues(answer)), type: 'text/vtt; charset=utf-8' };
    default:
      return null;
  }
}

/** Without segments, the whole text is one. */
function listCues({ segments, text, duration }: JSONObject): Cue[] {
  const cues = (Array.isArray(segments) ? segments : []).flatMap((segment): Cue[] => {
    if (!isObject(segment) || typeof segment.text !== 'string') return [];
    const start = readSeconds(segment.start) ?? 0;
    return [{ start, end: readSeconds(segment.end) ?? start, text: toLine(segment.text) }];
  });
  return cues.length > 0 ? cues : [{ start: 0, end: readSeconds(duration) ?? 0, text: toLine(String(text)) }];
}

/** An empty line would end a cue, and an arrow would start one. */
const toLine = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('-->', '→').trim();

const writeSRT = (cues: readonly Cue[]): string =>
  cues
    .map(
      ({ start, end, text }, index) =>
        `${index + 1}\n${writeTime(start, ',')} --> ${writeTime(end, ',')}\n${text}\n\n`,
    )
    .join('');

const writeVTT = (cues: readonly Cue[]): string =>
  `WEBVTT\n\n${cues.map(({ start, end, text }) => `${writeTime(start, '.')} --> ${writeTime(end, '.')}\n${text}\n\n`).join('')}`;

/** `00:01:02,345`. */
function writeTime(seconds: number, separator: string): string {
  const all = Math.round(seconds * 1000);
  const pad = (value: number, digits: number) => String(Math.floor(value)).padStart(digits, '0');
  return `${pad(all / 3_600_000, 2)}:${pad((all / 60_000) % 60, 2)}:${pad((all / 1000) % 60, 2)}${separator}${pad(all % 1000, 3)}`;
}
