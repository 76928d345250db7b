/** Where a problem is dealt with. Pure. */
import type { ProblemView } from '../../api.ts';
import { findCrashedContainer, findLogSearch } from '../deployment/crash.ts';

/** Below the namespace. */
export function findProblemPath({ kind, name }: Pick<ProblemView, 'kind' | 'name'>): string {
  const encoded = encodeURIComponent(name);
  switch (kind) {
    case 'deployment':
      return `deployments/${encoded}?tab=conditions`;
    case 'queue':
      return `requests?deployment=${encoded}&status=queued`;
    case 'webhook':
      return `webhooks?filter=${encoded}`;
    case 'storage':
      return 'storage';
    case 'key':
      return `keys?filter=${encoded}`;
    case 'credit':
      return 'usage';
  }
}

/** Below the namespace; undefined if no container has crashed. */
export function findLogPath({ kind, name, message }: ProblemView): string | undefined {
  const container = kind === 'deployment' ? findCrashedContainer(message) : undefined;
  return container && `deployments/${encodeURIComponent(name)}${findLogSearch(container)}`;
}

/** undefined if the installation names no documentation. */
export const findRunbook = (
  { runbook }: Pick<ProblemView, 'runbook'>,
  documentationURL: string | null,
): string | undefined =>
  runbook && documentationURL ? `${documentationURL.replace(/\/$/, '')}/runbooks/${runbook}` : undefined;

const NOUNS: Record<ProblemView['kind'], string> = {
  deployment: 'Deployment',
  queue: 'Queue of',
  webhook: 'Endpoint',
  storage: 'Bucket',
  key: 'Key',
  credit: 'Workspace',
};

/** Such as “Deployment chat”. */
export const describeSubject = ({ kind, name }: Pick<ProblemView, 'kind' | 'name'>): string =>
  [NOUNS[kind], name].filter(Boolean).join(' ');
