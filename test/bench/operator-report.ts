/** Results of the benchmark of the operator, as a table and against its goals. */
import { atMost, formatRows, type Goal } from './report.ts';

export const IDLE_SECONDS = Number(process.env.IDLE_SECONDS ?? 60);

export interface OperatorFigures {
  models: number;
  restartSeconds: number;
  restartCPUSeconds: number;
  restartCalls: number;
  restartWrites: number;
  reactionMs: number;
  residentMiB: number;
  peakMiB: number;
  idleCPUPercent: number;
  idleCalls: number;
  idleWrites: number;
  /** Lookups of models at a front: at a restart, and at rest. */
  restartLookups: number;
  idleLookups: number;
  childrenP50Ms: number;
  /** From a change of the fronts to the slices of deployments that they serve, and to those of all. */
  servedFrontsSeconds: number;
  allFrontsSeconds: number;
  connections: number;
}

export function formatOperator(figures: OperatorFigures): string {
  const rows: [string, number, number][] = [
    ['deployments', figures.models, 0],
    ['restart to all reconciled, s', figures.restartSeconds, 1],
    ['calls to the API server in that', figures.restartCalls, 0],
    ['of them writes, a change included', figures.restartWrites, 0],
    ['a change meanwhile: to its Deployment, ms', figures.reactionMs, 0],
    ['memory, MiB', figures.residentMiB, 0],
    ['memory at its peak, MiB', figures.peakMiB, 0],
    ['CPU of a restart, s', figures.restartCPUSeconds, 1],
    ['CPU at rest, % of a core', figures.idleCPUPercent, 2],
    [`calls at rest in ${IDLE_SECONDS} s`, figures.idleCalls, 0],
    ['of them writes', figures.idleWrites, 0],
    ['models looked up by a restart', figures.restartLookups, 0],
    ['models looked up at rest', figures.idleLookups, 0],
    ['a new deployment: to its last child p50, ms', figures.childrenP50Ms, 0],
    ['another front: to the slices that it serves, s', figures.servedFrontsSeconds, 1],
    ['another front: to all slices, s', figures.allFrontsSeconds, 1],
    ['connections to the API server', figures.connections, 0],
  ];
  return formatRows([
    ['the operator', ''],
    ...rows.map(([label, value, digits]) => [label, value.toFixed(digits)]),
  ]);
}

export const listOperatorGoals = (figures: OperatorFigures): Goal[] => [
  atMost('restart to all reconciled, s', figures.restartSeconds, 60),
  atMost('memory at its peak, MiB', figures.peakMiB, 400),
  atMost('a change during the restart, ms', figures.reactionMs, 1_000),
  atMost('writes at rest', figures.idleWrites, 0),
  atMost('models looked up at rest', figures.idleLookups, 0),
  atMost('CPU at rest, % of a core', figures.idleCPUPercent, 1),
  atMost('a new deployment: to its last child p50, ms', figures.childrenP50Ms, 150),
];
