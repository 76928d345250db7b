/** The shape of an answer: what stays the same when an engine, or the simulator, is asked the same again. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineName } from './catalog.ts';
import type { CorpusRequest } from './corpus.ts';

export interface RecordedAnswer {
  status: number;
  /** Media type. */
  type: string;
  body?: Shape;
  /** Frames of a stream, in order. Equal ones in a row are one. */
  frames?: Shape[];
}

/** Names of types, values that count, and lists and objects of these. */
export type Shape = string | number | boolean | null | Shape[] | { [field: string]: Shape };

export interface Recording {
  version: string;
  answers: Record<string, RecordedAnswer>;
}

const pathOf = (engine: EngineName): string => join(import.meta.dirname, 'recordings', `${engine}.json`);
export const readRecording = (engine: EngineName): Recording =>
  JSON.parse(readFileSync(pathOf(engine), 'utf8'));

/** A line for each answer, so that Git shows which have changed. */
export function writeRecording(engine: EngineName, { version, answers }: Recording): void {
  const lines = Object.entries(answers).map(
    ([title, answer]) => `${JSON.stringify(title)}: ${JSON.stringify(answer)}`,
  );
  const text = `{"version": ${JSON.stringify(version)}, "answers": {\n${lines.join(',\n')}\n}}\n`;
  writeFileSync(pathOf(engine), text);
}

/** Fields whose values come from a list, or which tell what is wrong. */
const WORDS = new Set([
  'object',
  'type',
  'role',
  'finish_reason',
  'status',
  'code',
  'param',
  'reason',
  'tool_choice',
  'detail',
  'owned_by',
]);
const STOP_REASONS = new Set(['abort', 'end_turn', 'max_tokens', 'stop_sequence', 'tool_use']);
/** Lists whose length counts. */
const COUNTED = new Set(['choices', 'data', 'results', 'tool_calls', 'output']);
const EVENT_STREAM = 'text/event-stream';

export interface ShapeOptions {
  model: string;
  values: readonly string[];
}

export interface RawAnswer {
  status: number;
  type: string;
  text: string;
}

export async function sendRequest(
  baseURL: string,
  { method, path, headers, text }: CorpusRequest,
): Promise<RawAnswer> {
  const response = await fetch(`${baseURL}${path}`, {
    method,
    headers,
    ...(text !== undefined && { body: text }),
  });
  const type = (response.headers.get('content-type') ?? '').split(';')[0]!;
  return { status: response.status, type, text: await response.text() };
}

export const shapeAnswer = ({ status, type, text }: RawAnswer, options: ShapeOptions): RecordedAnswer =>
  type === EVENT_STREAM
    ? { status, type, frames: shapeFrames(text, options) }
    : { status, type, body: shapeBody(text, options) };

/** A text that is no JSON keeps its words. */
function shapeBody(text: string, options: ShapeOptions): Shape {
  try {
    return shapeOf(JSON.parse(text), options);
  } catch {
    return normalizeWords(text, options.model);
  }
}

function shapeFrames(text: string, options: ShapeOptions): Shape[] {
  const shapes = text
    .split(/\r?\n\r?\n/)
    .filter((frame) => frame !== '')
    .map((frame) => shapeFrame(frame, options));
  return /"index": ?[1-9]/.test(text) ? keepFirst(shapes) : dropRepeats(shapes);
}

/** How choices of one stream take turns differs from call to call. */
const keepFirst = (shapes: Shape[]): Shape[] => {
  const texts = shapes.map((shape) => JSON.stringify(shape));
  return shapes.filter((_, index) => texts.indexOf(texts[index]!) === index);
};

function shapeFrame(frame: string, options: ShapeOptions): Shape {
  const lines = frame.split(/\r?\n/);
  const read = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const [event, data] = [read('event'), read('data')];
  if (data === undefined) return lines[0]!.startsWith(':') ? 'comment' : normalizeWords(frame, options.model);
  const shape = shapeBody(data, options);
  return event === undefined ? shape : { event, data: shape };
}

function shapeOf(value: unknown, options: ShapeOptions, path: string[] = []): Shape {
  const name = path.at(-1) ?? '';
  if (value === null) return null;
  if (options.values.includes(path.join('.'))) return value as Shape;
  if (Array.isArray(value)) {
    const shapes = value.map((item) => shapeOf(item, options, [...path, '']));
    return COUNTED.has(name) ? shapes : dropRepeats(shapes);
  }
  if (typeof value === 'object') {
    const entries = Object.entries(value);
    if (isVocabulary(value, path))
      return dropRepeats(entries.map(([, item]) => shapeOf(item, options, [...path, 'entry'])));
    return Object.fromEntries(entries.map(([key, item]) => [key, shapeOf(item, options, [...path, key])]));
  }
  // It may also be a stop string of the request.
  if (name === 'stop_reason') return STOP_REASONS.has(value as string) ? (value as string) : typeof value;
  if (WORDS.has(name) || typeof value === 'boolean') return value as Shape;
  if (typeof value === 'string' && (name === 'message' || name === 'msg'))
    return normalizeWords(value, options.model);
  return typeof value;
}

/** A map from tokens, or from their ids. */
const isVocabulary = (value: object, path: string[]): boolean =>
  Object.keys(value).length > 0 &&
  (Object.keys(value).every((key) => /^\d+$/.test(key)) ||
    (path.at(-2) === 'top_logprobs' && Object.values(value).every((item) => typeof item === 'number')));

function dropRepeats(shapes: Shape[]): Shape[] {
  const texts = shapes.map((shape) => JSON.stringify(shape));
  return shapes.filter((_, index) => index === 0 || texts[index] !== texts[index - 1]);
}

/** Words without what differs between models and requests. */
const normalizeWords = (text: string, model: string): string =>
  text
    .replaceAll(model, 'MODEL')
    .replace(/\b[\da-f]{8}-[\da-f-]{20,}\b/g, 'ID')
    .replace(/q{20,}/g, 'qqq')
    .replace(/-?\b\d+(\.\d+)?\b/g, 'N')
    .slice(0, 400);
