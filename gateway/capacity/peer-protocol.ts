/** What replicas of one deployment say to each other, and a front to them. */
import { hash, timingSafeEqual } from 'node:crypto';

export const PEER_PREFIX = '/internal/';
export const RESERVATIONS_PATH = '/internal/reservations';
/** Before the engine's own path. */
export const PEER_ENGINE_PREFIX = '/internal/engine';

export const PEER_TOKEN_HEADER = 'x-berth-peer-token';
export const RESERVATION_HEADER = 'x-berth-reservation';

/** Of a reservation by prefix: the pod that asks. It gets no place where the other one has its share already. */
export const BALANCED_HEADER = 'x-berth-balanced';
/** Requests at the sender's engine, of such a reservation and its answer. */
export const INFLIGHT_HEADER = 'x-berth-inflight';

/** Of a request that a front holds, and sends again where there is no place for it. */
export const HELD_HEADER = 'x-berth-held';

/** Of an answer to a request that the peer's engine has never heard of. */
export const UNSENT_HEADER = 'x-berth-unsent';

/** Compares in constant time, whatever the lengths. */
export function buildTokenCheck(token: string): (given: string | string[] | undefined) => boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  const wanted = digest(token);
  return (given) => typeof given === 'string' && timingSafeEqual(digest(given), wanted);
}
