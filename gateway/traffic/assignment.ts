/** Which version of a model answers a conversation. All replicas come to the same choice, and it holds while the weights stand. */
import { hash } from 'node:crypto';

/** A version that takes a share of the conversations. */
export interface Share {
  /** Name of its deployment. */
  deployment: string;
  /** Percent. */
  weight: number;
  /** Its share stays with the deployment. */
  excluded?: true | undefined;
}

const ALL = 100;

/**
 * Null: the deployment itself. A raised weight moves conversations only to that version, or from the deployment to later
 * ones: thresholds grow, and each version has an order of its own.
 */
export function chooseVersion(conversation: string, shares: readonly Share[]): string | null {
  let left = ALL;
  for (const { deployment, weight, excluded } of shares) {
    if (weight > 0 && computePosition(conversation, deployment) * left < weight)
      return excluded ? null : deployment;
    left -= weight;
  }
  return null;
}

/** Where a conversation comes in the order of a version, in [0, 1). */
const computePosition = (conversation: string, name: string): number =>
  hash('sha256', `${conversation}\0${name}`, 'buffer').readUInt32BE(0) / 2 ** 32;
