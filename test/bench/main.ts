/** `make bench`: everything side by side in one run, since absolute figures on shared machines drift. */
import { formatAiperf, listAiperfGoals, measureAiperf } from './aiperf/aiperf.ts';
import { BASE_NAME, findBase, startBase, stopBase } from './base-build.ts';
import { compileBench, ensureBenchPrograms } from './compile.ts';
import { measureFleet } from './fleet/fleet.ts';
import { formatFleet, listFleetGoals } from './fleet/report.ts';
import { formatForwarding, listForwardingGoals, measureForwarding } from './forwarding.ts';
import { formatIdleFleets, listIdleGoals, measureIdleFleets } from './heartbeats.ts';
import { formatLargeResults, listLargeResultGoals, measureLargeResults } from './large-results.ts';
import { measureOperator } from './operator.ts';
import { formatOperator, listOperatorGoals } from './operator-report.ts';
import { refuseTakenPorts, stopAllPinned } from './pinned-process.ts';
import { measurePrefix } from './prefix/prefix.ts';
import { formatPrefix, listPrefixGoals } from './prefix/report.ts';
import { formatProfile, measureProfile } from './profile.ts';
import { KEYS, measureKeys, measureQueue, OPERATIONS, RECORDS } from './queue.ts';
import { formatKeys, formatQueue, listKeyGoals, listQueueGoals } from './queue-report.ts';
import { formatQueueWait, listQueueWaitGoals, measureQueueWait } from './queue-wait.ts';
import { startBenchRedis, withRedis } from './redis.ts';
import {
  formatAdded,
  formatGoals,
  formatTable,
  type Goal,
  listGoals,
  type Medians,
  summarize,
} from './report.ts';
import { measureSystem, type Round } from './rounds.ts';
import { formatScaling, listScalingGoals, measureScaling } from './scaling/replay.ts';
import { listSystems, PORTS, publishBench } from './systems.ts';
import { formatWebhooks, listWebhookGoals, measureWebhooks } from './webhooks.ts';

const ROUNDS = Number(process.env.ROUNDS ?? 3);
const SECONDS = Number(process.env.SECONDS ?? 6);
const ONLY = process.env.ONLY?.split(',');

interface Part {
  name: string;
  measure(): Promise<[table: string, goals: Goal[]]>;
}

/** Parts without other systems; each by its name in ONLY. */
const PARTS: Part[] = [
  {
    name: 'queue',
    measure: async () => {
      const figures = await measureQueue(RECORDS, OPERATIONS);
      const byKeys = await measureKeys(KEYS, OPERATIONS);
      return [
        `${formatQueue(figures)}\n\n${formatKeys(byKeys)}`,
        [...listQueueGoals(figures), ...listKeyGoals(byKeys)],
      ];
    },
  },
  {
    name: 'wait',
    measure: async () => {
      const figures = await withRedis(measureQueueWait);
      return [formatQueueWait(figures), listQueueWaitGoals(figures)];
    },
  },
  {
    name: 'results',
    measure: async () => {
      const figures = await withRedis(measureLargeResults);
      return [formatLargeResults(figures), listLargeResultGoals(figures)];
    },
  },
  {
    name: 'webhooks',
    measure: async () => {
      const figures = await withRedis(measureWebhooks);
      return [formatWebhooks(figures), listWebhookGoals(figures)];
    },
  },
  {
    name: 'forwarding',
    measure: async () => {
      const figures = await withRedis(measureForwarding);
      return [formatForwarding(figures), listForwardingGoals(figures)];
    },
  },
  {
    name: 'profile',
    measure: async () => [formatProfile(await measureProfile()), []],
  },
  {
    name: 'prefix',
    measure: async () => {
      const figures = await withRedis(measurePrefix);
      return [formatPrefix(figures), listPrefixGoals(figures)];
    },
  },
  {
    name: 'aiperf',
    measure: async () => {
      const figures = await measureAiperf();
      return [formatAiperf(figures), listAiperfGoals(figures)];
    },
  },
  {
    name: 'operator',
    measure: async () => {
      const checkout = findBase();
      const base = checkout === undefined ? undefined : await measureOperator(checkout);
      const figures = await measureOperator();
      return [formatOperator(figures, base), listOperatorGoals(figures, base)];
    },
  },
  {
    name: 'fleet',
    measure: async () => {
      const figures = await measureFleet();
      return [formatFleet(figures), listFleetGoals(figures)];
    },
  },
  {
    name: 'heartbeats',
    measure: async () => {
      const figures = await measureIdleFleets();
      return [formatIdleFleets(figures), listIdleGoals(figures)];
    },
  },
  {
    name: 'scaling',
    measure: async () => {
      const figures = measureScaling();
      return [formatScaling(figures), listScalingGoals(figures)];
    },
  },
];

async function main(): Promise<void> {
  ensureBenchPrograms();
  const systems = listSystems().filter(({ name }) => isWanted(name));
  const parts = PARTS.filter(({ name }) => isWanted(name));
  refuseUnknown([BASE_NAME, ...[...listSystems(), ...PARTS].map(({ name }) => name)]);
  await refuseTakenPorts(Object.values(PORTS));
  compileBench();
  await startBenchRedis();
  await publish();
  const base = isWanted(BASE_NAME) ? await startBase() : undefined;
  if (base)
    systems.splice(
      systems.findIndex(({ name }) => name === 'berth'),
      0,
      base,
    );

  const rounds: Round[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    for (const system of systems) {
      console.log(`round ${round} of ${ROUNDS}: ${system.name}…`);
      await (system.publish ?? publish)();
      rounds.push(await measureSystem(system, SECONDS));
    }
    // After each round, so that an interrupted bench has shown results.
    if (systems.length > 0) showRounds(summarize(rounds));
  }
  for (const { name, measure } of parts) {
    console.log(`${name}…`);
    show(...(await measure()));
  }
}

const publish = (): Promise<void> =>
  withRedis(async (redis) => {
    await redis.flushall();
    await publishBench(redis);
  });

const showRounds = (medians: Medians): void =>
  show(`${formatTable(medians)}\n\n${formatAdded(medians)}`.trimEnd(), listGoals(medians));

const isWanted = (name: string): boolean => !ONLY || ONLY.includes(name);

function refuseUnknown(names: string[]): void {
  const unknown = ONLY?.filter((name) => !names.includes(name)) ?? [];
  if (unknown.length === 0) return;
  console.error(`ONLY takes ${names.join(', ')}; not ${unknown.join(', ')}`);
  process.exit(1);
}

function show(table: string, goals: Goal[]): void {
  console.log(`\n${table}\n`);
  if (goals.length > 0) console.log(`${formatGoals(goals)}\n`);
}

// An explicit exit removes the folders of an interrupted bench, too.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
await main().finally(async () => {
  stopBase();
  await stopAllPinned();
});
