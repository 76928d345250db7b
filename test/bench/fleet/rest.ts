/** The cost of an idle fleet for the operator. */
import { pollUntil } from '../../support/poll.ts';
import { readCPU } from '../pinned-process.ts';
import { watchCalls } from './gateways.ts';
import type { Installation, Operator } from './installation.ts';

const SETTLE_MS = 10_000;

export interface RestFigures {
  cpuPercent: number;
  redisCallsPerSecond: number;
  apiWrites: number;
}

/** Measures the operator without requests. */
export async function measureRest(
  { redis, front }: Installation,
  operator: Operator,
  seconds: number,
): Promise<RestFigures> {
  // This front is the only other caller of Redis.
  front.program.process.kill('SIGSTOP');
  const calls = await watchCalls(redis.redis);
  try {
    const pid = operator.program.process.pid!;
    const before = {
      cpu: readCPU(pid),
      writes: await countWrites(operator),
    };
    await pause(seconds * 1_000);
    const seen = calls.count();
    return {
      cpuPercent: ((readCPU(pid) - before.cpu) / seconds) * 100,
      redisCallsPerSecond: seen / seconds,
      apiWrites: (await countWrites(operator)) - before.writes,
    };
  } finally {
    calls.stop();
    front.program.process.kill('SIGCONT');
  }
}

/** Calls that change something, but for the lease. */
export async function countWrites(operator: Operator): Promise<number> {
  const text = await readMetrics(operator);
  return [...text.matchAll(/api_calls_total\{verb="(\w+)",resource="(\w+)",code="\d+"\} (\d+)/g)]
    .filter(([, verb, resource]) => !['get', 'list', 'watch'].includes(verb!) && resource !== 'leases')
    .reduce((sum, [, , , count]) => sum + Number(count), 0);
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.max(0, ms)));

/** Nothing restarts an operator here that lost its lease, unlike Kubernetes. */
export function requireRunning({ program }: Operator): void {
  if (program.ended !== null) throw new Error(`the operator ended:\n${program.output.slice(-2_000)}`);
}

/** '' until it listens; throws once it has ended. */
export async function readMetrics(operator: Operator): Promise<string> {
  requireRunning(operator);
  return fetch(`http://127.0.0.1:${operator.metricsPort}/metrics`).then(
    (answer) => answer.text(),
    () => '',
  );
}

const isLeading = async (operator: Operator): Promise<boolean> =>
  /^berth_operator_leader 1/m.test(await readMetrics(operator));

/** Resolves with the one of these operators that leads. */
export async function findLeader(operators: readonly Operator[]): Promise<Operator> {
  let leader: Operator | undefined;
  await pollUntil(
    async () => {
      for (const operator of operators) if (await isLeading(operator)) leader = operator;
      return leader !== undefined;
    },
    'a leading operator',
    120_000,
  );
  return leader!;
}

/** Resolves once this operator knows the cluster, and may take over. */
export const untilReady = (operator: Operator): Promise<void> =>
  pollUntil(
    async () => {
      requireRunning(operator);
      const answer = await fetch(`http://127.0.0.1:${operator.metricsPort}/readyz`).catch(() => undefined);
      return answer?.ok === true;
    },
    'an operator that is ready',
    120_000,
  );

/** Resolves when the operator has written nothing for some seconds. */
export async function settle(operator: Operator): Promise<void> {
  for (let last = -1, now = await countWrites(operator); last !== now; now = await countWrites(operator)) {
    last = now;
    await pause(SETTLE_MS);
  }
}
