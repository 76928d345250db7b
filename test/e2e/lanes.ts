/**
 * Which of these files go on at the same time, in phases that follow one another. Files of a lane follow one another, and the
 * lanes of a phase go on side by side. What no lane names runs alone, after them: it restarts programs, upgrades
 * the release or keeps every core busy.
 */
import { basename } from 'node:path';

/** They leave the release as it is, and what they change is their own or only their lane's. Each about as long as the others. */
const LANES = [
  // The one that starts most pods at once comes first, so that no browser waits for it.
  ['examples', 'hpa', 'members', 'isolation', 'limits'],
  // The pods of the cache ask for more of the node than others, so they come when most have gone.
  ['autoscaling', 'weights-cache'],
  // Only this lane uses the models and buckets of the examples: under the load of others, its requests would be refused.
  ['media-limits', 'media-images', 'media-videos', 'console', 'tasks', 'chat', 'pause'],
  ['crash', 'scaling-tide', 'prometheus', 'status', 'console-rights'],
];
/** The attacks keep shared programs busy, and the other file mostly waits. */
const ATTACKS = [['attacks'], ['ingress']];
/**
 * They leave the release as they upgraded it, for the next one to upgrade it again; after the last, nothing is left. In this
 * order the fewest of them have to wait for new fronts.
 */
const LAST = ['sidecar-rollout', 'media-webhooks', 'chart', 'gateway-api', 'uninstall'];

/** The lanes of one phase; none is empty. */
export type Phase = string[][];

export function planFiles(files: readonly string[]): Phase[] {
  const find = (name: string) => files.filter((file) => basename(file) === `${name}.test.ts`);
  const collect = (lanes: readonly string[][]): Phase =>
    lanes.map((names) => names.flatMap(find)).filter((lane) => lane.length > 0);
  const together = [LANES, ATTACKS].map(collect);
  const last = LAST.flatMap(find);
  const planned = [...together.flat(2), ...last];
  const alone = [...files.filter((file) => !planned.includes(file)), ...last];
  return [...together, alone.length > 0 ? [alone] : []].filter((phase) => phase.length > 0);
}
