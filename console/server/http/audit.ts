/** What a request of the API changes, for the audit line in the log. */
import { OIDC_CALLBACK_PATH } from '../../api.ts';

export interface AuditedChange {
  action: string;
  resource: string;
  namespace?: string | undefined;
  name?: string | undefined;
  /** How many requests it canceled at once. */
  canceled?: number | undefined;
}

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);
const ACTIONS: Partial<Record<string, string>> = {
  POST: 'create',
  PATCH: 'update',
  PUT: 'update',
  DELETE: 'delete',
};
const SESSION_ACTIONS: Partial<Record<string, string>> = { POST: 'sign-in', DELETE: 'sign-out' };
const MAX_NAME_LENGTH = 253;
/** Names may equal any of these words, so each is matched by position. */
export const PLAYGROUND = /^\/api\/namespaces\/[^/]+\/deployments\/[^/]+\/v1\//;
const DRY_RUN = /^\/api\/namespaces\/[^/]+\/deployments\/(?:[^/]+\/)?dry-run$/;

/** null for reads, dry runs, and model calls in the playground. `answer` has the name of what was created. */
export function describeChange(method: string, path: string, answer: unknown): AuditedChange | null {
  if (path === OIDC_CALLBACK_PATH) return { action: 'sign-in', resource: 'session' };
  if (READS.has(method) || path === '/api/oidc') return null;
  if (method === 'POST' && (PLAYGROUND.test(path) || DRY_RUN.test(path))) return null;
  const [, , area = '', namespace, resource = '', ...rest] = path
    .split('/')
    .map((part) => part.slice(0, MAX_NAME_LENGTH));
  if (area !== 'namespaces') return { action: SESSION_ACTIONS[method] ?? method, resource: area };
  // A verb comes last: /webhooks/NAME/test.
  if (method === 'POST' && rest.length > 0)
    return {
      ...{ action: rest.at(-1)!, resource, namespace, name: rest.slice(0, -1).join('/') || undefined },
      ...readCanceled(answer),
    };
  return { action: ACTIONS[method] ?? method, resource, namespace, name: rest.join('/') || readName(answer) };
}

function readName(answer: unknown): string | undefined {
  const { name, key } = (answer ?? {}) as { name?: unknown; key?: { name?: unknown } };
  return readText(name ?? key?.name);
}

function readCanceled(answer: unknown): Pick<AuditedChange, 'canceled'> {
  const { canceled } = (answer ?? {}) as { canceled?: unknown };
  return typeof canceled === 'number' ? { canceled } : {};
}

const readText = (name: unknown): string | undefined =>
  typeof name === 'string' ? name.slice(0, MAX_NAME_LENGTH) : undefined;
