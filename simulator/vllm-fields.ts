/** Fields of a request as vLLM 0.32 reads them, and its words for those that it cannot read. */
import { EngineError } from './errors.ts';
import { type Fields, isObject } from './fields.ts';

type Path = readonly (string | number)[];

export const refuse = (message: string, param: string | null = null, value?: unknown): EngineError => {
  const about = param === null ? '' : ` (parameter=${param}${value === undefined ? '' : `, value=${value}`})`;
  return new EngineError(400, 'BadRequestError', message + about, param);
};

/** The words of its validation library. */
export const refuseInput = (
  type: string,
  path: Path,
  message: string,
  input: unknown,
  more: string[] = [],
): EngineError => {
  const place = ['body', ...path].join('.');
  const quote = message.includes("'") ? '"' : "'";
  const words = [
    `'type': '${type}'`,
    `'loc': '${place}'`,
    `'msg': ${quote}${message}${quote}`,
    `'input': '${showInput(input)}'`,
    ...more,
  ];
  return new EngineError(400, 'Bad Request', `1 validation error:\n  {${words.join(', ')}}`, place);
};

function showInput(input: unknown): string {
  if (Array.isArray(input)) return `<list of ${input.length} items>`;
  return isObject(input) ? `<dict of ${Object.keys(input).length} items>` : String(input ?? 'None');
}

interface Problem {
  type: string;
  message: string;
  more?: string;
}

export const toText = (type: string): Problem => ({ type, message: 'Input should be a valid string' });

export function refuseInputs(name: string, input: unknown, problems: Problem[]): EngineError {
  const place = `body.${name}`;
  const lines = problems.map(
    ({ type, message, more = '' }) =>
      `{'type': '${type}', 'loc': '${place}', 'msg': '${message}', 'input': '${showInput(input)}'${more}}`,
  );
  const count = `${lines.length} validation error${lines.length > 1 ? 's' : ''}`;
  return new EngineError(400, 'Bad Request', `${count}:\n  ${lines.join('\n  ')}`, place);
}

const INTEGERS = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'min_tokens',
  'n',
  'seed',
  'priority',
  'top_k',
  'top_logprobs',
  'dimensions',
  'top_n',
];
const NUMBERS = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'repetition_penalty'];
const BOOLEANS = ['stream', 'echo', 'store', 'background'];
const YES: unknown[] = [true, 1, '1', 'true', 'yes', 'on'];
const NO: unknown[] = [false, 0, '0', 'false', 'no', 'off'];

/** Fields as it reads them: numbers may be texts, and 1 is true. */
export function readTypes(body: Fields): Fields {
  const read: Fields = { ...body };
  for (const name of INTEGERS) if (isGiven(body[name])) read[name] = readInteger([name], body[name]);
  for (const name of NUMBERS) if (isGiven(body[name])) read[name] = readNumber([name], body[name]);
  for (const name of BOOLEANS) if (isGiven(body[name])) read[name] = readBoolean([name], body[name]);
  for (const name of ['messages', 'tools'])
    if (isGiven(body[name]) && !Array.isArray(body[name]))
      throw refuseInput('list_type', [name], 'Input should be a valid list', body[name]);
  for (const [index, token] of listOf(body.stop_token_ids).entries())
    readInteger(['stop_token_ids', index], token);
  return read;
}

export const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function readNumber(path: Path, value: unknown): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number === 'number' && !Number.isNaN(number)) return number;
  throw refuseInput(
    'float_parsing',
    path,
    'Input should be a valid number, unable to parse string as a number',
    value,
  );
}

function readInteger(path: Path, value: unknown): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || Number.isNaN(number))
    throw refuseInput(
      'int_parsing',
      path,
      'Input should be a valid integer, unable to parse string as an integer',
      value,
    );
  if (Number.isInteger(number)) return number;
  throw refuseInput(
    'int_from_float',
    path,
    'Input should be a valid integer, got a number with a fractional part',
    value,
  );
}

function readBoolean(path: Path, value: unknown): boolean {
  if (YES.includes(value)) return true;
  if (NO.includes(value)) return false;
  throw refuseInput(
    'bool_parsing',
    path,
    'Input should be a valid boolean, unable to interpret input',
    value,
  );
}
