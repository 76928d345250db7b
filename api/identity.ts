/** Integers and secrets derived from names and from one master key, the same after a restore or a re-creation; and random tokens. */
import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** The first 48 bits of SHA-256(kind/namespace/name): safe as a JSON number. Never 0. */
export function deriveId(kind: string, namespace: string, name: string): number {
  const digest = createHash('sha256').update(`${kind}/${namespace}/${name}`).digest();
  return digest.readUIntBE(0, 6) || 1;
}

export const hashApiKey = (key: string): string => createHash('sha256').update(key).digest('hex');

/** Derives one purpose's secret (32 bytes) from the master key. */
export function deriveSecret(masterKey: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, 'berth', `v1/${purpose}`, 32));
}

export const workspaceRedisUser = (namespace: string) => `ws:${namespace}`;
export const workspaceRedisPassword = (masterKey: string, namespace: string) =>
  deriveSecret(masterKey, `redis/${namespace}`).toString('base64url');
export const workspaceDataKey = (masterKey: string, namespace: string) =>
  deriveSecret(masterKey, `data/${namespace}`);
export const peerToken = (masterKey: string, namespace: string, name: string) =>
  deriveSecret(masterKey, `peer/${namespace}/${name}`).toString('base64url');
/** Among the replicas that serve an adapter: their base's token is that of its own. */
export const adapterToken = (basePeer: string, adapter: string) =>
  deriveSecret(basePeer, `adapter/${adapter}`).toString('base64url');
/** For hops to a deployment's replicas from those of another one of its workspace, each of which has the storage token. */
export const hopToken = (storage: string, name: string) =>
  deriveSecret(storage, `hop/${name}`).toString('base64url');
/** Marks requests that a front holds and resends, for replicas; derived from the peer token, which stays internal. */
export const heldToken = (peer: string) => deriveSecret(peer, 'held').toString('base64url');
/** Signs links to results at a deployment's own endpoint, for its replicas and the fronts. */
export const linkSecret = (peer: string): Buffer => deriveSecret(peer, 'links');
export const storageToken = (masterKey: string, namespace: string) =>
  deriveSecret(masterKey, `storage/${namespace}`).toString('base64url');
/** Seals the parameters of a workspace's requests; in a sidecar, which has no data key, it derives from the token alone. */
export const promptKey = (token: string): Buffer =>
  Buffer.from(hkdfSync('sha256', token, 'berth', 'v1/prompts', 32));
/** The operator's token for the front. */
export const operatorToken = (masterKey: string) => deriveSecret(masterKey, 'operator').toString('base64url');
export const drainToken = (masterKey: string, namespace: string, name: string) =>
  deriveSecret(masterKey, `drain/${namespace}/${name}`).toString('base64url').slice(0, 22);

/** The first 8 hex digits of a workspace's request ids: distinguishes "another workspace's" from "unknown" (decision 0060). */
export const workspacePrefix = (masterKey: string, namespace: string): string =>
  createHmac('sha256', deriveSecret(masterKey, 'request-prefix')).update(namespace).digest('hex').slice(0, 8);

/** The tokens that Berth issues: a prefix that shows what each one is, and 256 random bits. */
const API_KEY_PREFIX = 'sk-berth-';
export const formatApiKey = (bits: Buffer): string => `${API_KEY_PREFIX}${bits.toString('base64url')}`;
export const generateApiKey = (): string => formatApiKey(randomBytes(32));

/** Minimum length at which the rest of a key remains unguessable despite the hint. */
const MIN_HINTED_LENGTH = 32;
const KEY_END = /[\w-]{4}$/;

/** The hint of a key, such as `sk-berth-…x3a0` (decision 0289); undefined if it is too short, or ends with other characters. */
export function hintApiKey(key: string): string | undefined {
  const [end] = KEY_END.exec(key) ?? [];
  if (end === undefined || key.length < MIN_HINTED_LENGTH) return undefined;
  return `${key.startsWith(API_KEY_PREFIX) ? API_KEY_PREFIX : ''}…${end}`;
}

export const formatSigningSecret = (bits: Buffer): string => `whsec_${bits.toString('base64')}`;
export const generateSigningSecret = (): string => formatSigningSecret(randomBytes(32));
