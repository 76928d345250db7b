/** Conversations that another version of the model answers: a hop to a replica of its deployment, which lends a slot of its engine (decision 0384). */
import { crc32 } from 'node:zlib';
import type { GatewayConfig } from '../../api/gateway-config.ts';
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
  /** How long a replica may take to lend a slot; 300. */
  timeoutMs?: number;
}

/** Replicas of a version that are asked for a slot: then the request stays here. */
const MAX_ASKED = 2;
/** Waiting soon costs more than it is worth, since this deployment can answer. */
const TIMEOUT_MS = 300;
/** Changes are noticed earlier: a replica that is gone refuses, and the next one is asked. */
const FRESH_MS = 1_000;
/** How long connections to a version stay open without requests. */
const IDLE_POOL_MS = 60_000;
const MAX_MEMBERS = 20;

export class Traffic {
  readonly #options: TrafficOptions;
  readonly #replicas: FreshCache<string[]>;
  readonly #pools: Pools;
  readonly #cleaning: NodeJS.Timeout;
  /** Deriving one takes longer than the rest of a choice. */
  readonly #tokens = new Map<string, string>();

  constructor(options: TrafficOptions) {
    this.#options = options;
    this.#pools = new Pools({ onResend: options.onResend });
    this.#replicas = new FreshCache({
      load: options.readReplicas,
      ttlMs: FRESH_MS,
      maxEntries: MAX_MEMBERS,
    });
    this.#cleaning = setInterval(() => this.#pools.closeIdle(IDLE_POOL_MS), IDLE_POOL_MS).unref();
  }

  /** The version that a conversation belongs to; null: this deployment, or it has no others. */
  choose(conversation: string): string | null {
    const { traffic } = this.#options.config();
    return traffic === undefined ? null : chooseVersion(conversation, traffic);
  }

  /**
   * A slot at the version's replica that the conversation leads to, which may have it cached, or at the next one. `lost`: origins that
   * are not asked. Null: none has a slot, or none is ready.
   */
  async acquire(
    version: string,
    conversation: string,
    { signal, lost }: { signal: AbortSignal; lost?: ReadonlySet<string> },
  ): Promise<EngineTarget | null> {
    const { port, timeoutMs = TIMEOUT_MS } = this.#options;
    const order = new Map<string, number>();
    for (const address of await this.#readReplicas(version)) {
      const origin = formatOrigin(address, port);
      if (!lost?.has(origin)) order.set(origin, mixBits(crc32(conversation + address)));
    }
    const origins = [...order.keys()].sort((a, b) => order.get(a)! - order.get(b)!);
    for (const origin of origins.slice(0, MAX_ASKED)) {
      if (signal.aborted) break;
      const at = { origin, token: this.#findToken(version), pools: this.#pools };
      const answer = await reserveSlot(at, signal, { timeoutMs });
      if ('target' in answer) return { ...answer.target, version };
    }
    return null;
  }

  #findToken(version: string): string {
    const token = this.#tokens.get(version) ?? this.#options.token(version);
    if (this.#tokens.size > MAX_MEMBERS) this.#tokens.clear();
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
  async #readReplicas(version: string): Promise<string[]> {
    try {
      return await this.#replicas.get(version);
    } catch {
      return [];
    }
  }
}
