/** Conversations that another version of the model answers: a hop to a replica of its deployment, which lends a slot of its engine (decision 0384). */
import { crc32 } from 'node:zlib';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import type { BusyTime } from '../capacity/busy-time.ts';
import type { EngineTarget } from '../capacity/capacity.ts';
import { formatOrigin, reserveSlot } from '../capacity/peers.ts';
import { mixBits } from '../capacity/prefix-hash.ts';
import { FreshCache } from '../http/fresh-cache.ts';
import { Pools } from '../upstream/pools.ts';
import { chooseVersion } from './assignment.ts';

export interface TrafficOptions {
  config: () => Pick<GatewayConfig, 'traffic'>;
  /** Token for the replicas of a deployment. */
  token: (deployment: string) => string;
  /** Addresses of a deployment's ready replicas. */
  readReplicas: (deployment: string) => Promise<string[]>;
  /** Port of every replica's gateway. */
  port: number;
  onResend: () => void;
  /** Activity that this replica reports. */
  busy: Pick<BusyTime, 'stay'>;
  /** How long the replicas may take to lend a slot, together; 300. */
  timeoutMs?: number;
}

/** Replicas of a version that are asked for a slot: then the request stays here. */
const MAX_ASKED = 8;
/** For all of them: waiting soon costs more than it is worth, since this deployment can answer. */
const TIMEOUT_MS = 300;
/** How long a replica that did not answer in time is not asked. */
const AVOID_MS = 5_000;
/** Changes are noticed earlier: a replica that is gone refuses, and the next one is asked. */
const FRESH_MS = 1_000;
/** How long connections to a version stay open without requests. */
const IDLE_POOL_MS = 60_000;
/** Versions whose replicas and tokens are kept: more than a deployment can have. */
const MAX_KNOWN = 20;

interface VersionReplica {
  origin: string;
  /** A hash of its address. */
  seed: number;
}

export class Traffic {
  readonly #options: TrafficOptions;
  readonly #replicas: FreshCache<VersionReplica[]>;
  /** Origins that are not asked, until when. */
  readonly #avoided = new Map<string, number>();
  readonly #pools: Pools;
  readonly #cleaning: NodeJS.Timeout;
  /** Deriving one takes longer than the rest of a choice. */
  readonly #tokens = new Map<string, string>();

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#pools = new Pools({ onResend: options.onResend });
    this.#replicas = new FreshCache({
      load: async (version) =>
        (await options.readReplicas(version)).map((address) => ({
          origin: formatOrigin(address, options.port),
          seed: crc32(address),
        })),
      ttlMs: FRESH_MS,
      servesStale: true,
      maxEntries: MAX_KNOWN,
    });
    this.#cleaning = setInterval(() => this.#pools.closeIdle(IDLE_POOL_MS), IDLE_POOL_MS).unref();
  }

  /** The version that a conversation belongs to; null: this deployment, or it has no others. */
  choose(conversation: string): string | null {
    const { traffic } = this.#options.config();
    return traffic === undefined ? null : chooseVersion(conversation, traffic);
  }

  /**
   * A slot at the version's replica that the conversation leads to, which may have it cached, or at one of the next. `lost`: origins that
   * are not asked. Null: none has a slot, or none is ready.
   */
  async acquire(
    version: string,
    conversation: string,
    { signal, lost }: { signal: AbortSignal; lost?: ReadonlySet<string> },
  ): Promise<EngineTarget | null> {
    const { timeoutMs = TIMEOUT_MS, busy } = this.#options;
    const replicas = await this.#readReplicas(version);
    const end = performance.now() + timeoutMs;
    const left = this.#order(replicas, conversation, lost);
    for (let asked = 0; asked < MAX_ASKED; asked++) {
      const origin = takeFirst(left);
      const leftMs = end - performance.now();
      if (origin === null || signal.aborted || leftMs <= 0) break;
      const at = { origin, token: this.#findToken(version), pools: this.#pools };
      const answer = await reserveSlot(at, signal, {
        timeoutMs: leftMs,
        onSilence: () => this.#avoided.set(origin, performance.now() + AVOID_MS),
      });
      // Its own engine is idle, but this replica is not.
      if ('target' in answer) return { ...answer.target, version, release: busy.stay() };
    }
    return null;
  }

  /** Positions of the replicas that may be asked. */
  #order(
    replicas: readonly VersionReplica[],
    conversation: string,
    lost?: ReadonlySet<string>,
  ): Map<string, number> {
    const now = performance.now();
    for (const [origin, until] of this.#avoided) if (until <= now) this.#avoided.delete(origin);
    const start = crc32(conversation);
    const order = new Map<string, number>();
    for (const { origin, seed } of replicas)
      if (!lost?.has(origin) && !this.#avoided.has(origin)) order.set(origin, mixBits(start ^ seed));
    return order;
  }

  #findToken(version: string): string {
    const token = this.#tokens.get(version) ?? this.#options.token(version);
    if (this.#tokens.size > MAX_KNOWN) this.#tokens.clear();
    this.#tokens.set(version, token);
    return token;
  }

  /** For a target of another version. */
  findPool(origin: string): ReturnType<Pools['get']> {
    return this.#pools.get(origin);
  }

  async close(): Promise<void> {
    clearInterval(this.#cleaning);
    await this.#pools.destroy();
  }

  /** None while Redis is down and the version was not asked for before. */
  async #readReplicas(version: string): Promise<VersionReplica[]> {
    try {
      return await this.#replicas.get(version);
    } catch {
      return [];
    }
  }
}

/** The one with the lowest position; null: none is left. */
function takeFirst(left: Map<string, number>): string | null {
  let first: string | null = null;
  for (const [origin, position] of left) if (first === null || position < left.get(first)!) first = origin;
  if (first !== null) left.delete(first);
  return first;
}
