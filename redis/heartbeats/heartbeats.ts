/** Replicas' heartbeats: each writes its own and reads its peers'. */
import { isIP } from 'node:net';
import { type Heartbeat, workKeys } from '../../api/redis-keys.ts';
import type { RedisClient } from '../client.ts';
import { callFunction } from '../function-table.ts';
import { decodeReport, isCount, isShortText } from '../untrusted-values.ts';

/** The reply to a replica's heartbeat. */
export interface PeerUpdate {
  /** To be passed with the next one. */
  edition: string;
  /** Heartbeats of all live replicas, including its own; null: unchanged since the known edition, except for their times. */
  beats: Heartbeat[] | null;
}

/** Writes a replica's heartbeat and returns changes; invalid heartbeats are omitted. */
export async function heartbeat(
  redis: RedisClient,
  replica: { namespace: string; name: string; heartbeat: Omit<Heartbeat, 'at'>; knownEdition?: string },
): Promise<PeerUpdate> {
  const { namespace, name, heartbeat: beat, knownEdition = '' } = replica;
  const args = { pod: beat.pod, report: JSON.stringify(beat), knownEdition };
  const key = workKeys(namespace).heartbeats(name);
  const [edition, ...beats] = await callFunction(redis, 'heartbeat', [key], args);
  return {
    edition,
    beats: edition === knownEdition ? null : beats.flatMap((text) => decodeHeartbeat(text) ?? []),
  };
}

const MAX_PORT = 65_535;

function decodeHeartbeat(text: string): Heartbeat | null {
  const beat = decodeReport<Heartbeat>(text);
  if (!beat) return null;
  const { pod, boot, version, address, port, inflight, limit, ready, draining, every, at, adapter } = beat;
  if (
    ![pod, boot, version, adapter ?? ''].every(isShortText) ||
    typeof address !== 'string' ||
    !isIP(address)
  )
    return null;
  if (![port, inflight, limit ?? 0, every, at].every(isCount) || port > MAX_PORT) return null;
  return [ready, draining].every((flag) => typeof flag === 'boolean') ? beat : null;
}

/** Removes a replica from the registry at once, on a clean shutdown. */
export async function leave(
  redis: RedisClient,
  { namespace, name, pod }: { namespace: string; name: string; pod: string },
): Promise<void> {
  await callFunction(redis, 'leave', [workKeys(namespace).heartbeats(name)], { pod });
}
