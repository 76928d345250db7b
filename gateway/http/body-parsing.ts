/** Parses JSON bodies in turns of their tenants, so that none of them occupies the event loop. */
import { isAscii, isUtf8 } from 'node:buffer';
import { isObject, parseForeignJson } from '../../kit/json.ts';
import {
  hasManyBrackets,
  isTooDeep,
  type JsonFault,
  MAX_JSON_DEPTH,
  weighJson,
} from '../../kit/json-cost.ts';
import { listMembers, type Member, readEdges } from '../../kit/json-members.ts';
import { parseInSlices } from '../../kit/json-slices.ts';
import { LoopTurns, type Steps } from '../../kit/loop-turns.ts';
import { parsedValues } from './body-memory.ts';
import { ApiError } from './error-response.ts';
import type { Exchange, GatewayState } from './exchange.ts';
import { refuseAsUnavailable } from './unavailability.ts';

export interface JsonBody {
  raw: Buffer;
  value: Record<string, unknown>;
  /** Members of the outermost object, with offsets in `raw`. */
  members(): Iterable<Member>;
}

/** Whatever the cost of a body, it is charged to its tenant. */
export const parsingTurns = new LoopTurns();

/** No more than a connection buffers anyway, so it is not accounted for. */
export const SMALL_BYTES = 16 * 1024;

/** Heap and bytes of a body that is parsed as a whole: a few milliseconds, whatever its shape. */
const MAX_WHOLE_BYTES = 1.5 * 1024 * 1024;

/** A request, and whose share of memory it uses. */
export type Parties = Pick<GatewayState, 'exchange' | 'keyHash' | 'tenant'>;

/** Whose share of memory and time a request uses. */
export const ownerOf = ({ tenant, keyHash }: Parties): string => tenant ?? keyHash;

/** For a body that is no larger than SMALL_BYTES. */
export function parseBody(body: Buffer): JsonBody {
  const raw = dropMark(body);
  checkEncoding(raw);
  const text = decode(raw);
  if (hasManyBrackets(text) && isTooDeep(raw)) throw describeFault('depth');
  const value = requireObject(parseWhole(text));
  // One character per byte: JSON's structure is ASCII, whose bytes occur in no other UTF-8 character.
  return {
    raw,
    value,
    members: () => listMembers(text.length === raw.length ? text : raw.toString('latin1')),
  };
}

/** A body of any size. The result of `interpret` may outlive the body, the parsed value does not. */
export function* parseInTurns<T>(parties: Parties, body: Buffer, interpret: (body: JsonBody) => T): Steps<T> {
  const { exchange } = parties;
  exchange.check();
  if (body.length <= SMALL_BYTES) return interpret(parseBody(body));
  const raw = dropMark(body);
  checkEncoding(raw);
  const { fault, cost, edges } = yield* weighJson(raw, parsedValues.maxAmount);
  if (fault !== null) throw describeFault(fault);
  return yield* withParsedValues(parties, cost, function* () {
    const isCheap = cost + raw.length <= MAX_WHOLE_BYTES;
    const value = requireObject(isCheap ? parseWhole(decode(raw)) : yield* parseSlices(raw, exchange));
    return interpret({ raw, value, members: () => readEdges(raw, edges) });
  });
}

/** For a large response of an engine: whatever its values take, they are parsed; undefined if it is no JSON. */
export const answerTurns = (parties: Parties) => ({
  run: <T>(steps: Steps<T>) => parsingTurns.run(ownerOf(parties), steps),
  parse: function* (body: Buffer): Steps<unknown> {
    const { fault, cost } = yield* weighJson(body, Number.POSITIVE_INFINITY);
    if (fault !== null) return undefined;
    const { maxAmount } = parsedValues;
    return yield* withParsedValues(parties, Math.min(cost, maxAmount), function* () {
      try {
        return yield* parseInSlices(body);
      } catch (error) {
        if (error instanceof SyntaxError) return undefined;
        throw error;
      }
    });
  },
});

/** Holds memory for values of `cost` bytes while it takes the steps. */
function* withParsedValues<T>(parties: Parties, cost: number, steps: () => Steps<T>): Steps<T> {
  const lease = parsedValues.open(ownerOf(parties));
  try {
    const reservation = lease.grow(cost);
    let hasMemory = reservation === true;
    if (typeof reservation !== 'boolean')
      yield reservation.then((isGranted) => {
        hasMemory = isGranted;
      });
    parties.exchange.check();
    if (!hasMemory) throw refuseReservation();
    return yield* steps();
  } finally {
    lease.release();
  }
}

function* parseSlices(raw: Buffer, exchange: Exchange): Steps<unknown> {
  const steps = parseInSlices(raw);
  for (;;) {
    const { done, value } = parse(() => steps.next());
    if (done) return value;
    yield;
    exchange.check();
  }
}

// ASCII, such as base64 images, is copied without decoding.
const decode = (raw: Buffer): string => raw.toString(isAscii(raw) ? 'latin1' : 'utf8');

const parseWhole = (text: string): unknown => parse(() => parseForeignJson(text), text);

function checkEncoding(raw: Buffer): void {
  if (!isUtf8(raw)) throw new ApiError('invalid_json', 'The body is not valid UTF-8.');
}

function requireObject(value: unknown): Record<string, unknown> {
  if (isObject(value)) return value;
  throw new ApiError('invalid_json', 'The body must be a JSON object.');
}

const describeFault = (fault: JsonFault): ApiError =>
  fault === 'depth'
    ? new ApiError('invalid_json', `The body is nested deeper than ${MAX_JSON_DEPTH} levels.`)
    : new ApiError(
        'request_too_large',
        'The body has too many values for one request: send fewer or shorter lists, or split it into several requests.',
      );

/** Some editors start files with a byte order mark, which engines may not accept. */
const dropMark = (raw: Buffer): Buffer =>
  raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? raw.subarray(3) : raw;

export const refuseReservation = () =>
  refuseAsUnavailable('memory', 'Too many large requests are in progress at the moment.');

function parse<T>(read: () => T, text?: string): T {
  try {
    return read();
  } catch (error) {
    if (text?.trim() === '') throw new ApiError('invalid_json', 'The body is empty: send a JSON object.');
    throw new ApiError('invalid_json', `The body is not valid JSON: ${(error as Error).message}.`);
  }
}
