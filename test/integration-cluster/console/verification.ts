/** The operator's part in the check of a bucket, where no operator runs. */
import type { KubeRequest } from '../../support/kube-request.ts';
import { pollUntil } from '../../support/poll.ts';

export const VERIFIED = { status: 'True', reason: 'Verified', message: 'it works' };

/** Answers the check of a StorageCredential that `act` asks for and waits for. */
export async function verifyMeanwhile<T>(
  kube: KubeRequest,
  { namespace, name, verdict }: { namespace: string; name: string; verdict: object },
  act: () => Promise<T>,
): Promise<T> {
  const path = `/apis/berth.dev/v1alpha1/namespaces/${namespace}/storagecredentials/${name}`;
  const read = async () => (await kube('GET', path)).body;
  const handled = (await read()).status?.lastHandledVerify;
  const acting = act();
  let seen: string | undefined;
  await pollUntil(async () => {
    seen = (await read()).metadata?.annotations?.['berth.dev/verify'];
    return seen !== undefined && seen !== handled;
  }, 'a request for a check');
  const live = await read();
  const condition = { type: 'Verified', ...verdict, lastTransitionTime: new Date().toISOString() };
  const conditions = [{ ...condition, observedGeneration: live.metadata.generation }];
  await kube('PUT', `${path}/status`, { ...live, status: { lastHandledVerify: seen, conditions } });
  return acting;
}
