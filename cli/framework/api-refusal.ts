/** What to do about an API server that does not answer, or refuses. Pure. */
import { KubeApiError } from '../../kube/api-error.ts';
import { Failure } from './failure.ts';
import type { Target } from './target.ts';

/** Kubernetes' words where it has no such kind at all. */
const NO_SUCH_KIND = 'could not find the requested resource';

export function explainRefusal(
  error: Error,
  { where, namespace }: Pick<Target, 'where' | 'namespace'>,
): Error {
  if (!(error instanceof KubeApiError)) return error;
  const { code, message } = error;
  if (code === 0)
    return new Failure(
      'unreachable',
      `the API server of ${where} does not answer: ${message}; check that make run or the cluster still runs`,
    );
  if (code === 401)
    return new Failure('failed', `the API server of ${where} does not accept your credentials: ${message}`);
  if (code === 403)
    return new Failure(
      'failed',
      `${message}; what you may do by ${where}: kubectl auth can-i --list -n ${namespace}`,
    );
  if (code === 404 && message.includes(NO_SUCH_KIND))
    return new Failure(
      'unreachable',
      `Berth is not installed in the cluster of ${where}: see docs/install.md`,
    );
  return code === 404 ? new Failure('not_found', message) : error;
}
