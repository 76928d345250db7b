/** A prompt or an embedding's input: a text, texts, token ids, or lists of token ids. */
import { refuse, refuseField } from './errors.ts';
import type { Fields } from './fields.ts';
import { countTokens, decodeTokens } from './text.ts';

export interface TextInput {
  text: string;
  tokens: number;
}

const MAX_INPUTS = 2048;
const MAX_TOKEN_ID = 2 ** 31;

/** Throws an EngineError that names the field when it is missing or of another shape. */
export function readInputs(fields: Fields, name: string): TextInput[] {
  const value = fields[name] ?? undefined;
  if (value === undefined) throw refuseField([name], 'Field required');
  if (typeof value === 'string') return [readText(value)];
  if (!Array.isArray(value))
    throw refuseField([name], 'Input should be a string, a list of strings, or lists of token ids');
  if (value.length === 0) throw refuse(`Please provide at least one ${name}`, name);
  if (isTokens(value)) return [readTokens(value)];
  if (value.length > MAX_INPUTS)
    throw refuse(`${name} must hold at most ${MAX_INPUTS} entries, got ${value.length}.`, name);
  return value.map((entry, index) => {
    if (typeof entry === 'string') return readText(entry);
    if (Array.isArray(entry) && entry.length > 0 && isTokens(entry)) return readTokens(entry);
    throw refuseField([name, index], 'Input should be a string or a list of token ids');
  });
}

/** Whether it is a list of inputs, be it of one. */
export const isBatch = (value: unknown): boolean => Array.isArray(value) && !isTokens(value);

/** The text of a prompt, as the control port shows it; undefined when there is none. */
export function peekInput(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value) || value.length === 0) return undefined;
  if (typeof value[0] === 'string') return value[0];
  const ids = Array.isArray(value[0]) ? value[0] : value;
  return isTokens(ids) ? ids.slice(0, 100).join(' ') : undefined;
}

const isTokens = (value: unknown[]): value is number[] =>
  value.every((id) => typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < MAX_TOKEN_ID);

const readText = (text: string): TextInput => ({ text, tokens: countTokens(text) });
const readTokens = (ids: number[]): TextInput => ({ text: decodeTokens(ids), tokens: ids.length });
