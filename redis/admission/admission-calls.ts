/** Admission, settlement and spending of API keys; all calls are safe to repeat after a timeout. */
import { type BoundingBudget, decodeBounding } from '../../api/budget.ts';
import { workKeys } from '../../api/redis-keys.ts';
import { type RedisClient, sendNow } from '../client.ts';
import { encodeCall, FUNCTIONS, SIGNATURES } from '../function-table.ts';
import { readCounter } from '../untrusted-values.ts';

const VERDICTS = ['ok', 'unknown_key', 'disabled', 'expired', 'credit', 'tpd', 'rpm'] as const;
export type AdmissionVerdict = (typeof VERDICTS)[number];

/** The result of one request's admission; all times by Redis' clock, in Unix seconds. */
export interface Admission {
  verdict: AdmissionVerdict;
  /** Name of the APIKey object; '' when unknown. */
  keyName: string;
  /** 0 = never. */
  expiresAt: number;
  /** Whether the workspace and the key's budgets may still spend; set in all modes. */
  creditLeft: boolean;
  /** null: the key has none. */
  budgets: KeyBudgets | null;
  /** Deployments that the key may call; null = all. */
  deployments: readonly string[] | null;
  /** The 60 s window that started with its first request; `remaining` is after this request. */
  rpm: { limit: number; remaining: number; resetAt: number };
  /** The UTC day; `used` is what was settled before this request. */
  tpd: { limit: number; used: number; resetAt: number };
  /** Whole seconds until the refused limit frees up; 0 unless the verdict is `rpm` or `tpd`. */
  retryAfter: number;
  /** Priority of the key, higher first. */
  priority: number;
  /** Further requests that were counted with this one; null: none. `rpm.remaining` is after all of them. */
  lease: Lease | null;
}

export interface KeyBudgets {
  /** For calls that charge. */
  text: string;
  /** The one that has least left. */
  tightest: BoundingBudget;
  /** Millionths that it has left. */
  leftMicros: number;
  /** Whether the workspace's credit is used up, whatever the budgets; older libraries do not say it. */
  isCreditGone: boolean;
}

export interface Lease {
  requests: number;
  /** How long it lasts, from when it was asked for. */
  ms: number;
  /** Millionths that the workspace and the key's budgets may still spend; Infinity = unlimited. */
  creditMicros: number;
}

/**
 * `all`: credit, TPD and RPM are checked, too, and the request counts; `requests`: only RPM; `waiting`: only RPM, for one that no
 * replica has counted; `no`: only the key is checked.
 */
export type Counted = 'all' | 'requests' | 'waiting' | 'no';

export interface AdmissionRequest {
  namespace: string;
  /** `hashApiKey` of the key. */
  sha256: string;
  counted: Counted;
  /** How many further requests to lease, with `all` alone; 0 if absent. */
  leased?: number | undefined;
  /** Called right before it is sent, so Redis has received everything sent before. */
  onSend?: () => void;
}

/** Authenticates a key and, if asked, counts one request (docs/api.md, "Authentication", "Limits"). */
export const admit = (redis: RedisClient, request: AdmissionRequest): Promise<Admission> =>
  new Promise((resolve, reject) => findLine(redis).add({ request, resolve, reject }));

function decodeAdmission(answer: string): Admission {
  const fields = answer.split(' ');
  const number = (index: number) => Number(fields[index]);
  return {
    verdict: fields[0] as AdmissionVerdict,
    keyName: fields[10]!,
    expiresAt: number(1),
    creditLeft: fields[2] === '1',
    rpm: { limit: number(3), remaining: number(4), resetAt: number(5) },
    tpd: { limit: number(6), used: number(7), resetAt: number(8) },
    retryAfter: number(9),
    // An unknown key has none.
    priority: Number(fields[11] ?? 0),
    lease: number(12) > 0 ? decodeLease(number(12), number(13), number(14)) : null,
    budgets: decodeBudgets(fields),
    deployments: isGiven(fields[18]) ? fields[18].split(',') : null,
  };
}

const isGiven = (text: string | undefined): text is string => text !== undefined && text !== '-';

const decodeBudgets = ({
  15: text,
  16: tightest,
  17: left,
  19: credit,
}: readonly string[]): KeyBudgets | null =>
  isGiven(text)
    ? { text, tightest: decodeBounding(tightest!), leftMicros: Number(left), isCreditGone: credit === '0' }
    : null;

const decodeLease = (requests: number, ms: number, micros: number): Lease => ({
  requests,
  ms,
  creditMicros: micros < 0 ? Number.POSITIVE_INFINITY : micros,
});

/** `resetAt`: as returned when it was counted. */
type CountedRequest = Pick<AdmissionRequest, 'namespace' | 'sha256'> & { resetAt: number };

/** Uncounts requests from their minute; false if that minute is over. */
export async function uncount(
  redis: RedisClient,
  { namespace, sha256, resetAt }: CountedRequest,
  count = 1,
): Promise<boolean> {
  return (await sendUncount(redis, workKeys(namespace).rpm(sha256), resetAt, count)) === 1;
}

/** The same for one that was counted as `waiting`. */
export async function uncountWaiting(
  redis: RedisClient,
  { namespace, sha256, resetAt }: CountedRequest,
): Promise<void> {
  await sendUncount(redis, workKeys(namespace).rpmWaiting(sha256), resetAt, 1);
}

/** A library before leases takes no count, and no lease comes from it. Not batched, so that an admission after it finds the room. */
const sendUncount = (redis: RedisClient, key: string, resetAt: number, count: number): Promise<unknown> =>
  sendNow(redis, 'fcall', [FUNCTIONS.uncount, 1, key, resetAt, ...(count === 1 ? [] : [count])]);

export interface Settlement {
  namespace: string;
  sha256: string;
  /** Added to the key's UTC day. */
  tokens: number;
  /** Millionths, added to what the workspace has spent. */
  micros: number;
  /** `KeyBudgets.text` of the admission, to which they are added, too. */
  budgets?: string | undefined;
  /** Unique to this settlement and the same in its repeats, within 10 minutes; one may cover several requests. */
  token: string;
}

/** Counts tokens and money after a response. False: this token was settled before, and nothing changed. */
export async function settle(redis: RedisClient, settlement: Settlement): Promise<boolean> {
  const { namespace, sha256, tokens, micros, token, budgets } = settlement;
  const amounts = { tokens: Math.round(tokens), micros: Math.round(micros) };
  const keys = [workKeys(namespace).settled(token)];
  const call = encodeCall('settle', keys, { namespace, sha256, ...amounts, ...(budgets && { budgets }) });
  // Not batched, since an admission sent later is answered later.
  return (await sendNow(redis, 'fcall', call)) === 1;
}

/** Millionths that a workspace has spent so far. */
export async function readSpentMicros(redis: RedisClient, namespace: string): Promise<number> {
  return readCounter(redis, workKeys(namespace).credit);
}

interface Waiting {
  request: AdmissionRequest;
  resolve(admission: Admission): void;
  reject(error: unknown): void;
}

/** Limits how long one call blocks Redis. */
const MAX_BATCH = SIGNATURES.admit.rest.most;
const MAX_IN_FLIGHT = 2;
/** Callers do not wait longer for others' calls: when Redis hangs, all find out within one timeout. */
const MAX_WAIT_MS = 10;
const FAILED = 'failed ';
const MODES: Record<Counted, string> = { no: '0', all: '1', requests: '2', waiting: '3' };

const lines = new WeakMap<RedisClient, AdmissionLine>();

function findLine(redis: RedisClient): AdmissionLine {
  const found = lines.get(redis);
  if (found) return found;
  const line = new AdmissionLine(redis);
  lines.set(redis, line);
  return line;
}

/**
 * Batches admissions of one connection. One is sent at once if none is in flight. Later ones are sent together: at the end of the turn of the
 * event loop, or, with two calls in flight, with the next reply. On a busy gateway that saves most of their cost (decision 0332).
 */
class AdmissionLine {
  readonly #redis: RedisClient;
  /** By namespace. */
  #batches = new Map<string, Waiting[]>();
  #inFlight = 0;
  #turn: NodeJS.Immediate | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(redis: RedisClient) {
    this.#redis = redis;
  }

  add(waiting: Waiting): void {
    const { namespace } = waiting.request;
    if (this.#inFlight === 0 && this.#batches.size === 0) {
      this.#send(namespace, [waiting]);
      return;
    }
    const batch = this.#batches.get(namespace);
    if (batch) batch.push(waiting);
    else this.#batches.set(namespace, [waiting]);
    if (this.#inFlight < MAX_IN_FLIGHT) this.#turn ??= setImmediate(() => this.#flush());
    else this.#timer ??= setTimeout(() => this.#flush(), MAX_WAIT_MS);
  }

  #flush(): void {
    if (this.#turn) clearImmediate(this.#turn);
    if (this.#timer) clearTimeout(this.#timer);
    this.#turn = null;
    this.#timer = null;
    const batches = this.#batches;
    this.#batches = new Map();
    for (const [namespace, batch] of batches)
      for (let start = 0; start < batch.length; start += MAX_BATCH)
        this.#send(namespace, batch.length > MAX_BATCH ? batch.slice(start, start + MAX_BATCH) : batch);
  }

  #send(namespace: string, batch: Waiting[]): void {
    this.#inFlight++;
    sendNow(this.#redis, 'fcall', writeCall(namespace, batch)).then(
      (answers) => {
        this.#end();
        for (let index = 0; index < batch.length; index++)
          answerOne(batch[index]!, (answers as string[])[index]!);
      },
      (error) => {
        this.#end();
        for (const { reject } of batch) reject(error);
      },
    );
  }

  /** What is collected is sent first, so that Redis works while the answers are read. */
  #end(): void {
    this.#inFlight--;
    if (this.#batches.size > 0) this.#flush();
  }
}

function writeCall(namespace: string, batch: readonly Waiting[]): string[] {
  const { rpm } = workKeys(namespace);
  const args: string[] = [FUNCTIONS.admit, String(batch.length)];
  for (const { request } of batch) args.push(rpm(request.sha256));
  args.push(namespace);
  for (const { request } of batch) args.push(request.sha256, encodeMode(request));
  for (const { request } of batch) request.onSend?.();
  return args;
}

const encodeMode = ({ counted, leased = 0 }: AdmissionRequest): string =>
  leased > 0 ? `${MODES[counted]}+${leased}` : MODES[counted];

function answerOne({ resolve, reject }: Waiting, answer: string): void {
  if (answer.startsWith(FAILED)) reject(new Error(answer.slice(FAILED.length)));
  else resolve(decodeAdmission(answer));
}
