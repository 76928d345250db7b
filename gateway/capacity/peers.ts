/** Reserves a slot at another replica of this deployment (decision 0031). */

import type { IncomingHttpHeaders } from 'node:http';
import type { Heartbeat } from '../../api/redis-keys.ts';
import type { Pools } from '../upstream/pools.ts';
import type { EngineTarget } from './capacity.ts';
import { askPeer } from './peer-call.ts';
import {
  BALANCED_HEADER,
  INFLIGHT_HEADER,
  PEER_ENGINE_PREFIX,
  PEER_TOKEN_HEADER,
  RESERVATION_HEADER,
  RESERVATION_MS,
  RESERVATIONS_PATH,
} from './peer-protocol.ts';

export interface PeersOptions {
  token: string;
  list: () => readonly Heartbeat[];
  pools: Pools;
  /** Pods that should become idle: they are asked last. Read each time. */
  cordoned?: () => readonly string[];
  /** Name of this replica's pod. */
  pod?: string;
}

export type PeerAnswer = { target: EngineTarget } | { refusal: 'full' | 'unavailable' };

/** Enough for any deployment that is not full everywhere, and a limit on the cost of one request. */
const MAX_ASKED = 8;
/** As long as a slot is reserved for a peer. */
const ANSWER_TIMEOUT_MS = RESERVATION_MS;
/** Waiting soon costs more than a cached prefix saves. */
const BALANCED_TIMEOUT_MS = 300;

/** Additional data in the response to a reservation by prefix. */
export interface BalancedAnswer {
  answer: PeerAnswer;
  /** Requests at the peer's engine; absent: it did not respond, or is older. */
  inflight: string | string[] | undefined;
}

export class Peers {
  readonly #options: PeersOptions;

  constructor(options: PeersOptions) {
    this.#options = options;
  }

  /**
   * The first slot that a peer grants, least loaded first; `full` if at least one is ready and none has a slot. `lost`:
   * origins of peers that are not asked.
   */
  async acquire(signal: AbortSignal, lost?: ReadonlySet<string>): Promise<PeerAnswer> {
    let refusal: 'full' | 'unavailable' = 'unavailable';
    const origins = this.#rank().map(({ address, port }) => formatOrigin(address, port));
    for (const origin of origins.filter((each) => !lost?.has(each)).slice(0, MAX_ASKED)) {
      if (signal.aborted) break;
      const answer = await this.#ask(origin, signal);
      if ('target' in answer) return answer;
      if (answer.refusal === 'full') refusal = 'full';
    }
    return { refusal };
  }

  /** A slot at one peer, unless it has more than its share; `inflight`: of this replica's engine. */
  async acquireBalanced(peer: Heartbeat, inflight: number, signal: AbortSignal): Promise<BalancedAnswer> {
    let reported: BalancedAnswer['inflight'];
    const answer = await this.#ask(formatOrigin(peer.address, peer.port), signal, {
      timeoutMs: BALANCED_TIMEOUT_MS,
      headers: { [BALANCED_HEADER]: this.#options.pod ?? '', [INFLIGHT_HEADER]: String(inflight) },
      onHeaders: (received) => {
        reported = received[INFLIGHT_HEADER];
      },
    });
    return { answer, inflight: reported };
  }

  /** Those that may receive work: ready and awake, neither draining nor cordoned. */
  listOpen(): Heartbeat[] {
    const names = this.#options.cordoned?.() ?? [];
    return this.#options
      .list()
      .filter(({ pod, ready, asleep, draining }) => ready && !asleep && !draining && !names.includes(pod));
  }

  /** Cordoned replicas do not pass requests to each other. */
  #rank(): Heartbeat[] {
    const { list, cordoned = () => [], pod } = this.#options;
    const names = new Set(cordoned());
    const ranked = rankPeers(list());
    const open = ranked.filter((peer) => !names.has(peer.pod));
    return pod !== undefined && names.has(pod)
      ? open
      : [...open, ...ranked.filter((peer) => names.has(peer.pod))];
  }

  #ask(origin: string, signal: AbortSignal, asking?: Asking): Promise<PeerAnswer> {
    return reserveSlot({ ...this.#options, origin }, signal, asking);
  }
}

interface Asking {
  timeoutMs?: number;
  headers?: Record<string, string>;
  onHeaders?: (received: IncomingHttpHeaders) => void;
  /** It did not answer in time. */
  onSilence?: () => void;
}

/** A slot at one replica, of this deployment or of one whose token is given. Never rejects. */
export async function reserveSlot(
  { origin, token, pools }: Pick<PeersOptions, 'token' | 'pools'> & { origin: string },
  signal: AbortSignal,
  { timeoutMs = ANSWER_TIMEOUT_MS, headers: more, onHeaders, onSilence }: Asking = {},
): Promise<PeerAnswer> {
  const headers = { [PEER_TOKEN_HEADER]: token };
  try {
    const { status, headers: received } = await askPeer(pools.get(origin), {
      path: RESERVATIONS_PATH,
      headers: { ...headers, ...more },
      timeoutMs,
      signal,
    });
    onHeaders?.(received);
    if (status === 429) return { refusal: 'full' };
    const id = received[RESERVATION_HEADER];
    if (status !== 201 || typeof id !== 'string') return { refusal: 'unavailable' };
    return {
      target: {
        origin,
        pathPrefix: PEER_ENGINE_PREFIX,
        headers: { ...headers, [RESERVATION_HEADER]: id },
        local: false,
        // The peer releases its slot itself, at the end of the request or if none arrived.
        release: () => {},
      },
    };
  } catch (error) {
    if (!isSlow(error)) return { refusal: 'unavailable' };
    onSilence?.();
    // A slow peer is busy, not gone.
    return { refusal: 'full' };
  }
}

const isSlow = (error: unknown): boolean =>
  ['TimeoutError', 'ConnectTimeoutError'].includes((error as Error).name);

/** Ready peers that do not drain, by their share of taken slots; those without a limit by their number. */
export function rankPeers(peers: readonly Heartbeat[]): Heartbeat[] {
  const load = ({ inflight, limit }: Heartbeat) => (limit === null ? inflight / 1e6 : inflight / limit);
  return peers.filter(({ ready, draining }) => ready && !draining).sort((a, b) => load(a) - load(b));
}

/** http origin of a pod; IPv6 addresses in brackets. */
export const formatOrigin = (address: string, port: number): string =>
  `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
