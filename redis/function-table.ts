/**
 * What programs and the Lua functions agree on: limits, fields of a request's record, and the signature of each function.
 * `lua-prelude.ts` writes all of it as Lua, with the keys of api/redis-keys.ts. Older gateways call the same functions: an
 * argument or a field is only ever added at the end, else the library gets another name.
 */
import type { RequestStatus } from '../api/request.ts';
import { MAX_SEALED_PARAMS_LENGTH } from '../api/sealed-request.ts';
import { SKETCH_LIMITS } from '../kit/latency-sketch.ts';
import type { RedisClient } from './client.ts';

/** The library that this version calls; older ones stay loaded while a live sidecar pins them. */
export const FUNCTIONS_LIBRARY = 'berth_1';

const KIB = 1024;
const MAX_EVENT_BYTES = 64 * KIB;
const MAX_URL_BYTES = 8 * KIB;
/** Hashes of usage in one batch. */
const MAX_HASHES = 3;

export const LIMITS = {
  /** Larger ones are not exact. */
  MAX_NUMBER: Number.MAX_SAFE_INTEGER,
  /** As text: whole numbers of 64 bits. */
  MAX_NUMBER_BYTES: 20,
  /** The length of a request's id. */
  ID_LENGTH: 36,
  /** Redis' memory for a request's record; more was made by a tenant. */
  MAX_RECORD_BYTES: 64 * KIB,
  /** The length of most fields that functions read, mostly names and numbers. */
  MAX_FIELD_BYTES: 253,
  /** Records of a call; and members of a set, each of which a tenant may have made as long as Redis accepts. */
  READ_AT_ONCE: 20,
  /** Stored objects of one request: more than a form has files, and longer names than a bucket has, are a tenant's own making. */
  MAX_OBJECTS: 64,
  MAX_OBJECT_BYTES: 2048,
  MAX_OBJECTS_BYTES: 32 * KIB,
  MAX_PARAMS_BYTES: MAX_SEALED_PARAMS_LENGTH,
  /** The size of an idempotency key's marker: every documented field of a request and all of its files. */
  MAX_MARKER_BYTES: 4096,
  /** Body of an event; a larger payload is replaced. */
  MAX_EVENT_BYTES,
  /** The event's body and the request's own callback: a longer row of the outbox was made by a tenant. */
  MAX_ROW_BYTES: MAX_EVENT_BYTES + MAX_URL_BYTES,
  /** The number in a call; a workspace's own Redis user may have written any number. */
  MAX_NAMES: 200,
  MAX_SWEPT: 100,
  /** Requests that one search examines. */
  MAX_SEARCHED: 100,
  /** How long repeats of a batch of usage are recognized. */
  REMEMBERED_SECONDS: 86_400,
  /** Counts that a hash of usage may get in one call: it blocks Redis. */
  MAX_COUNTS: 600,
  /** Sketches of latencies in one call, of three kinds in two resolutions: to merge one takes as long as hundreds of counts. */
  MAX_SKETCHES: 6,
  ...SKETCH_LIMITS,
  /** The latest requests of a deployment that have ended, those that a gateway adds at once, and the length of each. */
  MAX_NOTED: 300,
  MAX_NOTED_AT_ONCE: 50,
  MAX_LINE_BYTES: KIB,
  NOTED_SECONDS: 86_400,
  /** Budgets that bound one key, its own and its owner's; and their text. */
  MAX_BUDGETS: 2,
  MAX_BUDGETS_BYTES: 640,
  /** Files and open batches of a deployment, and the chunks of a file: each has a line, and ends at its 100th or its first MiB. */
  MAX_FILES: 1_000,
  MAX_OPEN_BATCHES: 100,
  MAX_CHUNKS: 1_100,
  /** The longest field of a batch or a file: its errors, or metadata of 16 pairs. */
  MAX_BATCH_FIELD_BYTES: 16 * KIB,
  /** What a chunk has written: two keys of objects. */
  MAX_PART_BYTES: 3 * KIB,
} as const;

const SUBMITTED_FIELDS = 'status deployment modality api_key order queued_at registration_id price keep_ms';
const FIRST_SHOWN_FIELDS =
  'status deployment registration_id modality model size seconds progress queued_at started_at completed_at error_code';

/** Fields of the records of files and batches. */
export const FILE_FIELDS = listWords(
  'kind deployment name bytes created_at expires_at lines endpoint errors object batch uses chunks',
);
export const BATCH_FIELDS = listWords(
  'status deployment file endpoint created_at expires_at window lines chunks done completed failed errors output_file ' +
    'error_file output_bytes error_bytes keep_ms key_hash key_name metadata ended_at cancelling_at finalizing_at ' +
    'input_tokens cached_tokens output_tokens total_tokens micros object budgets',
);

/** Fields of a request's record. */
export const FIELDS = {
  /** Those that functions work with; the first are written with the submission, so a record without them is a tenant's. */
  RECORD_FIELDS: listWords(
    `${SUBMITTED_FIELDS} inputs webhook_url claim deadline attempts ended_by claimed_at started_at budgets`,
  ),
  SUBMITTED_COUNT: listWords(SUBMITTED_FIELDS).length,
  LONGER_FIELDS: {
    inputs: LIMITS.MAX_OBJECTS_BYTES,
    webhook_url: MAX_URL_BYTES,
    budgets: LIMITS.MAX_BUDGETS_BYTES,
  },
  /** Those that `read` and `cancel` return. */
  SHOWN_FIELDS: listWords(
    `${FIRST_SHOWN_FIELDS} api_key price key_name images retry_of retried_as replays replayed_at replay_differs`,
  ),
  /** Where the result is among them, counted from 1 as in Lua: it is not in the record, which stays small that way. */
  RESULT_AT: listWords(FIRST_SHOWN_FIELDS).length + 1,
  FILE_FIELDS,
  BATCH_FIELDS,
};

const SHOWN_NAMES = FIELDS.SHOWN_FIELDS.toSpliced(FIELDS.RESULT_AT - 1, 0, 'result');

/** The fields and the result of a request that `read` or `cancel` returned, by name. */
export const nameShown = (shown: readonly (string | null)[]): Record<string, string | undefined> =>
  Object.fromEntries(SHOWN_NAMES.map((field, index) => [field, shown[index] ?? undefined]));

export interface Signature {
  /**
   * `reads`: also while Redis accepts no writes. When memory is full, `begins` is refused, since what it creates could not be
   * kept; `bounded` continues, since it takes little; `ends`, the default, continues into the reserve.
   */
  kind?: 'reads' | 'begins' | 'bounded';
  /** Most keys; 1 if absent. */
  keys?: number;
  /** Names, with spaces between. */
  args: string;
  /** How many of these, from the last on, may be absent. */
  optional?: number;
  /** Groups of further arguments. */
  rest?: { each: string; least?: number; most: number };
  /** Most bytes of all keys and arguments together, since a tenant may call it with any. */
  bytes: number;
}

/** By name; Lua has the same names in snake case, and explains each function where it is registered. */
export const SIGNATURES = {
  // API keys and credit.
  admit: {
    kind: 'bounded',
    keys: 100,
    args: 'namespace',
    rest: { each: 'sha256 mode', least: 1, most: 100 },
    bytes: 32 * KIB,
  },
  uncount: { kind: 'bounded', args: 'endsAt count', optional: 1, bytes: KIB },
  settle: { args: 'namespace sha256 tokens micros budgets', optional: 1, bytes: 2 * KIB },
  charge: { args: 'namespace price rememberSeconds budgets', optional: 2, bytes: 2 * KIB },
  refund: { args: 'namespace', bytes: KIB },
  // Reports of replicas and fronts.
  heartbeat: { args: 'pod report knownEdition', optional: 1, bytes: 4 * KIB },
  leave: { kind: 'bounded', args: 'pod', bytes: KIB },
  share: { args: 'front report', bytes: 4 * KIB },
  demand: { kind: 'reads', args: '', rest: { each: 'deployment', least: 1, most: 100 }, bytes: 16 * KIB },
  // A request, from state to state.
  submit: {
    kind: 'begins',
    args: 'namespace id deployment modality apiKey digest price slots jobMs params inputs fingerprint prompt',
    rest: { each: 'field value', most: 10 },
    bytes: 48 * KIB,
  },
  replay: { kind: 'bounded', args: 'namespace id differing', bytes: 2 * KIB },
  cancel: { args: 'namespace id token', bytes: KIB },
  claim: { args: 'namespace deployment token leaseMs pod', bytes: KIB },
  renew: { args: 'namespace id token leaseMs progress', bytes: KIB },
  /** An event of 64 KiB, with the objects' keys in it and once more. */
  finish: {
    args: 'namespace id token status code message output bucket objectKey payload retentions',
    bytes: 128 * KIB,
  },
  release: { args: 'namespace id token', bytes: KIB },
  sweep: { kind: 'bounded', args: 'namespace limit expireUntil', bytes: KIB },
  // Reads of requests.
  read: {
    kind: 'reads',
    args: 'namespace',
    rest: { each: 'id', least: 1, most: LIMITS.READ_AT_ONCE },
    bytes: 4 * KIB,
  },
  list: { kind: 'reads', keys: 2, args: 'limit order after since before', optional: 4, bytes: KIB },
  search: {
    kind: 'reads',
    keys: 2,
    args: 'namespace limit after since before',
    rest: { each: 'submitter', least: 1, most: 200 },
    bytes: 64 * KIB,
  },
  names: { kind: 'reads', args: 'limit', bytes: KIB },
  pace: { kind: 'reads', args: '', bytes: KIB },
  place: { kind: 'reads', args: 'namespace id', bytes: KIB },
  // Batches and their files.
  addFile: {
    kind: 'begins',
    args: 'namespace id deployment object chunks keepMs',
    rest: { each: 'field value', most: 8 },
    bytes: 128 * KIB,
  },
  readFiles: { kind: 'reads', args: 'namespace', rest: { each: 'id', least: 1, most: 20 }, bytes: 4 * KIB },
  deleteFile: { args: 'namespace id', bytes: KIB },
  createBatch: {
    kind: 'begins',
    args: 'namespace id deployment file errors windowMs keepMs',
    rest: { each: 'field value', most: 10 },
    bytes: 48 * KIB,
  },
  readBatches: { kind: 'reads', args: 'namespace', rest: { each: 'id', least: 1, most: 20 }, bytes: 4 * KIB },
  readParts: { kind: 'reads', args: 'namespace id first', bytes: KIB },
  cancelBatch: { args: 'namespace id', bytes: KIB },
  claimChunk: { args: 'namespace deployment token leaseMs skipped', bytes: 2 * KIB },
  renewChunk: { args: 'namespace id chunk token leaseMs', bytes: KIB },
  releaseChunk: { args: 'namespace id chunk token', bytes: KIB },
  finishChunk: {
    args: 'namespace id chunk token outputObject outputBytes errorObject errorBytes completed failed micros inputTokens cachedTokens outputTokens totalTokens',
    bytes: 8 * KIB,
  },
  // Sets of what is due.
  registerObjects: { args: 'removeInMs', rest: { each: 'object', most: 50 }, bytes: 64 * KIB },
  takeDue: { kind: 'bounded', args: 'limit leaseMs', bytes: KIB },
  // Usage.
  addUsage: {
    kind: 'begins',
    keys: 1 + MAX_HASHES,
    args: 'batch',
    rest: { each: 'field amount', least: 2, most: MAX_HASHES + LIMITS.MAX_COUNTS },
    bytes: 64 * KIB,
  },
  usage: { kind: 'reads', args: '', bytes: KIB },
  noteRequests: {
    kind: 'begins',
    args: '',
    rest: { each: 'endedAt line', least: 1, most: LIMITS.MAX_NOTED_AT_ONCE },
    bytes: 64 * KIB,
  },
  recent: { kind: 'reads', args: '', bytes: KIB },
  // Webhook deliveries.
  expand: {
    args: 'namespace id eventType requestId testBody',
    rest: { each: 'id destination url endpoint', most: 1000 },
    bytes: 4 * KIB * KIB,
  },
  leaseDeliveries: { kind: 'bounded', args: 'namespace limit perDestination leaseMs', bytes: KIB },
  settleDelivery: {
    kind: 'bounded',
    args: 'namespace destination id attempt isDelivered status fault waitMs exchange',
    bytes: 4 * KIB,
  },
  resend: {
    kind: 'begins',
    args: 'namespace',
    rest: { each: 'from id destination url', least: 1, most: 50 },
    bytes: 128 * KIB,
  },
  // The operator's own.
  canary: { kind: 'bounded', args: 'confirmed', bytes: KIB },
  weigh: { kind: 'reads', keys: 0, args: 'cursor mode', optional: 1, bytes: KIB },
} as const satisfies Record<keyof Replies, Signature>;

type Flag = 0 | 1;
/** Whether the lines of a chunk are run, or why not. */
export type ChunkMode = 'run' | 'cancelled' | 'expired';
type Shown = (string | null)[] | null;

/** What each function returns. */
export interface Replies {
  admit: string[];
  uncount: Flag;
  settle: Flag;
  /** `budget`: the one into which the price does not fit (`decodeBounding`); `submit` says it in place of an id. */
  charge: 'ok' | 'credit' | `budget ${string}`;
  refund: Flag;
  heartbeat: [edition: string, ...beats: string[]];
  leave: number;
  share: number;
  demand: [
    time: string,
    ...[beats: string[], shares: string[], queued: number, running: number, paceMs: string][],
  ];
  submit: [
    verdict: 'accepted' | 'duplicate' | 'queue_full' | 'credit' | 'gone' | 'refused' | 'budget',
    idOrReason: string,
    status: RequestStatus,
    estimatedSeconds: number,
    fingerprint?: string,
  ];
  replay: Flag;
  cancel: [verdict: 'canceled' | 'not_cancellable' | 'unknown', shown?: Shown];
  claim: [id: string, attempt: number, remainingMs: number, params: string] | null;
  renew: 'renewed' | 'stale' | 'deadline';
  finish: 'done' | 'already_done_by_you' | 'stale';
  release: Flag;
  sweep: [ended: number, released: number, forgotten: number, more: Flag];
  read: Shown[];
  list: string[];
  search: [last: string, micros: string, ...ids: string[]];
  names: string[];
  pace: string | null;
  place: [ahead: number, queued: number, running: number, averageMs: number | ''] | null;
  addFile: 'added' | 'full' | 'gone';
  readFiles: (string | null)[][];
  deleteFile: 'deleted' | 'in_use' | 'unknown';
  createBatch: [verdict: 'created' | 'unknown_file' | 'full' | 'gone' | 'refused', reason?: string];
  readBatches: (string | null)[][];
  readParts: (string | null)[];
  cancelBatch: 'cancelling' | 'ended' | 'unknown';
  claimChunk:
    | [id: string, chunk: string, mode: ChunkMode, place: string, ...fields: (string | null)[]]
    | null;
  renewChunk: ChunkMode | 'stale';
  releaseChunk: Flag;
  finishChunk: 'done' | 'stale';
  registerObjects: number;
  takeDue: string[];
  addUsage: Flag;
  usage: string[];
  noteRequests: 1;
  recent: string[];
  expand: number | null;
  leaseDeliveries: [nextInMs: number, rows: [id: string, attempt: number | string, ...string[]][]];
  settleDelivery: 'done' | 'stale';
  resend: ('done' | 'unknown' | 'pending' | 'expired' | 'full')[];
  canary: [before: number, next: number];
  weigh: (string | number)[];
}

type FunctionName = keyof Replies;
type Words<S extends string> = S extends `${infer Word} ${infer More}` ? Word | Words<More> : S;
type Value = string | number;
/** Added later, so absent where they say nothing. */
type LaterName = 'budgets';
type ArgumentName<F extends FunctionName> = Exclude<Words<(typeof SIGNATURES)[F]['args']>, ''>;
type Arguments<F extends FunctionName> = Record<Exclude<ArgumentName<F>, LaterName>, Value> &
  Partial<Record<Extract<ArgumentName<F>, LaterName>, Value>>;

export function listWords(text: string): string[] {
  return text.split(' ').filter(Boolean);
}

export const toSnakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (each) => `_${each.toLowerCase()}`);

function mapNames<T>(map: (name: FunctionName) => T): Record<FunctionName, T> {
  const names = Object.keys(SIGNATURES) as FunctionName[];
  return Object.fromEntries(names.map((name) => [name, map(name)])) as Record<FunctionName, T>;
}

/** Names of the functions as Redis knows them. */
export const FUNCTIONS = mapNames((name) => `${FUNCTIONS_LIBRARY}_${toSnakeCase(name)}`);
const ARGUMENTS = mapNames((name) => listWords(SIGNATURES[name].args));

/** The arguments of FCALL. `rest`: groups of further arguments, one after the other. */
export function encodeCall<F extends FunctionName>(
  name: F,
  keys: readonly string[],
  args: Arguments<F>,
  rest: readonly Value[] = [],
): [name: string, keys: number, ...Value[]] {
  const named = args as Record<string, Value>;
  const given = ARGUMENTS[name].map((each) => named[each]);
  const { optional = 0 }: Signature = SIGNATURES[name];
  const least = given.length - optional;
  while (given.length > least && given.at(-1) === undefined) given.pop();
  // Left out, it would make the next one an argument of another name.
  const missing = given.indexOf(undefined);
  if (missing >= 0) throw new Error(`The function ${name} needs ${ARGUMENTS[name][missing]}`);
  return [FUNCTIONS[name], keys.length, ...keys, ...(given as Value[]), ...rest];
}

export const callFunction = <F extends FunctionName>(
  redis: RedisClient,
  ...call: Parameters<typeof encodeCall<F>>
): Promise<Replies[F]> => redis.fcall(...encodeCall(...call)) as Promise<Replies[F]>;
