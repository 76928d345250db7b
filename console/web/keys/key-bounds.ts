/** What bounds a key beside its limits, in words. Pure. */
import type { KeyView } from '../../api.ts';

/** '' for a key without owner, deployments and budget. */
export function describeBounds({
  owner,
  deployments,
  budget,
}: Pick<KeyView, 'owner' | 'deployments' | 'budget'>): string {
  return [
    owner && `of ${owner}`,
    budget && `${budget.spent ?? '?'} of ${budget.amount} spent this ${budget.period.toLowerCase()}`,
    deployments && `only ${deployments.join(', ')}`,
  ]
    .filter(Boolean)
    .join('; ');
}
