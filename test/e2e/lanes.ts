/**
 * Which of these files go on at the same time. Those of a lane follow one another, and the lanes go on side by side: they
 * leave the release as it is, and what they change is their own or only their lane's. All other files come after them,
 * alone: they restart programs, upgrade the release or put the machine under load.
 */
import { basename } from 'node:path';

/** Each about as long as the others. */
const LANES = [
  ['hpa', 'pause', 'limits', 'isolation', 'examples'],
  ['autoscaling', 'crash', 'prometheus'],
  // Models and buckets of the examples are this one's: what it asks for would be refused while others keep them busy.
  [
    'media-limits',
    'media-images',
    'media-videos',
    'console',
    'chat',
    'ingress',
    'weights-cache',
    'status',
    'members',
    'console-rights',
    'tasks',
  ],
];
/** They leave the release as they upgraded it, for the next one to upgrade it again; after the last, nothing is left. */
const LAST = ['sidecar-rollout', 'chart', 'gateway-api', 'uninstall'];

export interface FilePlan {
  /** None is empty. */
  lanes: string[][];
  alone: string[];
}

export function planFiles(files: readonly string[]): FilePlan {
  const find = (name: string) => files.filter((file) => basename(file) === `${name}.test.ts`);
  const lanes = LANES.map((names) => names.flatMap(find)).filter((lane) => lane.length > 0);
  const last = LAST.flatMap(find);
  const rest = files.filter((file) => ![...lanes.flat(), ...last].includes(file));
  return { lanes, alone: [...rest, ...last] };
}
