/** Turns what was measured of a fleet into the table and goals of `make bench`. Pure. */
import { atMost, formatRows, type Goal } from '../report.ts';
import { percentile } from '../statistics.ts';
import type { FleetFigures } from './fleet.ts';

/** Leader lease of the operators. */
const LEASE_MS = 15_000;

export function formatFleet({
  models,
  rest,
  wakesMs,
  storm,
  crashes,
  outage,
  shortage,
  hpa,
}: FleetFigures): string {
  const rows: string[][] = [[`${models} deployments at zero`, '']];
  const add = (label: string, value: string | number) => rows.push([label, String(value)]);
  if (rest) {
    add('operator at rest, % of a core', rest.cpuPercent.toFixed(2));
    add('Redis calls/s at rest', rest.redisCallsPerSecond.toFixed(0));
    add('API writes in a minute of rest', rest.apiWrites);
  }
  if (wakesMs) {
    add('first request to pod object, p50 ms', percentile(wakesMs, 0.5).toFixed(0));
    add(`p95 ms of ${wakesMs.length}`, percentile(wakesMs, 0.95).toFixed(0));
    add('slowest, ms', Math.max(...wakesMs).toFixed(0));
  }
  if (storm) {
    add(
      'storm: deployments served',
      `${storm.served} of ${storm.deployments} in ${storm.seconds.toFixed(0)} s`,
    );
    const { large, others } = storm.longestWaitSeconds;
    add('storm: longest wait, s', `${others.toFixed(0)}, in the large workspace ${large.toFixed(0)}`);
    add('storm: out of order within a workspace', `${storm.inversions.count} of ${storm.inversions.pairs}`);
    const shares = storm.shareAtHalf;
    add(
      'storm: of a workspace when half had a GPU',
      `${shares.others.join(' to ')}, of the large one ${shares.large}`,
    );
    add('storm: pods that loaded in vain', `${storm.inVain} of ${storm.pods}`);
  }
  if (crashes) {
    add('crashes of the operator, and 35 s after the last: changes', crashes.changes);
    add(
      'from a request right after one to the pod, ms',
      crashes.wakesMs.map((ms) => ms.toFixed(0)).join(' '),
    );
  }
  if (outage) {
    add('a minute without Redis, and 35 s after it: changes', outage.changes);
    add('from its return to the pod that was asked for, ms', outage.wakeMs.toFixed(0));
  }
  if (shortage) {
    add(
      '10 wanted on 3 GPUs: pending',
      shortage.pending.map((at) => `${at.pending} at ${at.seconds} s`).join(', '),
    );
    add('a GPU that another deployment frees is used after, ms', shortage.takenMs.toFixed(0));
    add('condition', shortage.condition);
  }
  if (hpa) {
    add('an HPA: demand that it saw', hpa.demand);
    add('from 1 to 3 replicas, s', hpa.upSeconds.toFixed(0));
    add('back to 1, s', hpa.downSeconds.toFixed(0));
  }
  return formatRows(rows);
}

export function listFleetGoals({ rest, wakesMs, storm, crashes, outage, shortage }: FleetFigures): Goal[] {
  return [
    ...(rest
      ? [
          atMost('operator at rest, % of a core', rest.cpuPercent, 3),
          atMost('Redis calls/s at rest', rest.redisCallsPerSecond, 200),
          atMost('API writes at rest', rest.apiWrites, 0),
        ]
      : []),
    ...(wakesMs ? [atMost('first request to pod object, p95 ms', percentile(wakesMs, 0.95), 500)] : []),
    ...(storm
      ? [
          atMost('storm: not served', storm.deployments - storm.served, 0),
          atMost('storm: pods in vain', storm.inVain, 0),
          atMost('storm: out of order', storm.inversions.count, 0),
        ]
      : []),
    ...(crashes
      ? [
          atMost('changes after crashes', crashes.changes, 0),
          atMost('wake after a crash, ms', Math.max(...crashes.wakesMs), LEASE_MS + 1_000),
        ]
      : []),
    ...(outage
      ? [
          atMost('changes without Redis', outage.changes, 0),
          atMost('wake after its return, ms', outage.wakeMs, 2_000),
        ]
      : []),
    ...(shortage
      ? [
          atMost('pending after 2 min', Math.max(...lateOf(shortage.pending)), 1),
          atMost('a freed GPU is used, ms', shortage.takenMs, 10_000),
        ]
      : []),
  ];
}

const lateOf = (pending: { seconds: number; pending: number }[]): number[] =>
  pending.filter(({ seconds }) => seconds > 130).map(({ pending }) => pending);
