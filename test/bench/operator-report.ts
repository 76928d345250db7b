/** Results of the benchmark of the operator, as a table and against its goals. */
import { atMost, formatRows, type Goal } from './report.ts';

export const IDLE_SECONDS = Number(process.env.IDLE_SECONDS ?? 60);

export interface OperatorFigures {
  models: number;
  /** Until all pods serve and nothing is left to do. */
  createCPUSeconds: number;
  callsPerDeployment: number;
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

/** Beside the figures of the base, if there is one. */
export function formatOperator(figures: OperatorFigures, base?: OperatorFigures): string {
  const columns = [figures, ...(base ? [base] : [])].map(listRows);
  return formatRows([
    ['the operator', '', ...(base ? ['base'] : [])],
    ...columns[0]!.map(([label, , digits], row) => [
      label,
      ...columns.map((column) => column[row]![1].toFixed(digits)),
    ]),
  ]);
}

function listRows(figures: OperatorFigures): [string, number, number][] {
  return [
    ['deployments', figures.models, 0],
    ['CPU of their creation, s', figures.createCPUSeconds, 1],
    ['calls to the API server for each', figures.callsPerDeployment, 1],
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
}

export const listOperatorGoals = (figures: OperatorFigures, base?: OperatorFigures): Goal[] => [
  atMost('restart to all reconciled, s', figures.restartSeconds, 60),
  atMost('memory at its peak, MiB', figures.peakMiB, 400),
  atMost('a change during the restart, ms', figures.reactionMs, 1_000),
  atMost('writes at rest', figures.idleWrites, 0),
  atMost('models looked up at rest', figures.idleLookups, 0),
  atMost('CPU at rest, % of a core', figures.idleCPUPercent, 1),
  atMost('a new deployment: to its last child p50, ms', figures.childrenP50Ms, 150),
  ...(base
    ? [
        atMost('CPU of a restart ÷ base', figures.restartCPUSeconds / base.restartCPUSeconds, 0.5),
        atMost('CPU of the creation ÷ base', figures.createCPUSeconds / base.createCPUSeconds, 0.7),
        atMost('a change ÷ base', figures.reactionMs / base.reactionMs, 0.65),
        atMost('memory ÷ base', figures.residentMiB / base.residentMiB, 0.83),
      ]
    : []),
];
