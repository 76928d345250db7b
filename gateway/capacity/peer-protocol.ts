/** The protocol between replicas of a deployment, and to them from a front or from another deployment that names theirs in its traffic. */
import { hash, timingSafeEqual } from 'node:crypto';

export const PEER_PREFIX = '/internal/';
export const RESERVATIONS_PATH = '/internal/reservations';
/** Before the engine's own path. */
export const PEER_ENGINE_PREFIX = '/internal/engine';

export const PEER_TOKEN_HEADER = 'x-berth-peer-token';
export const RESERVATION_HEADER = 'x-berth-reservation';
/** How long a slot stays reserved for the peer that asked. */
export const RESERVATION_MS = 2_000;

/** Names the pod that requests a reservation by prefix. Refused if the other already has its share. */
export const BALANCED_HEADER = 'x-berth-balanced';
/** Requests at the sender's engine, in such a reservation and its response. */
export const INFLIGHT_HEADER = 'x-berth-inflight';

/** Names the pods of replicas that passed a request on as they stopped, to which it does not return. */
export const PASSED_ON_HEADER = 'x-berth-passed-on';

/** Marks a request that a front holds, and resends if there is no slot for it. */
export const HELD_HEADER = 'x-berth-held';

/** Marks a response to a request that the peer's engine never received. */
export const UNSENT_HEADER = 'x-berth-unsent';

/** Compares in constant time, whatever the lengths. */
export function buildTokenCheck(token: string): (given: string | string[] | undefined) => boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  const wanted = digest(token);
  return (given) => typeof given === 'string' && timingSafeEqual(digest(given), wanted);
}
