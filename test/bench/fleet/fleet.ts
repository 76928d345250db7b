/** A fleet of deployments that scale to zero, on fake nodes: `make bench ONLY=fleet` (MODELS=1000, FLEET=wakes,storm for some parts). */

import { type PodWatch, watchPods } from '../../support/pod-watch.ts';
import { createModel, createWorkspaces, inParallel, type ModelName } from '../operator-state.ts';
import { type CrashFigures, measureCrashes, measureOutage, type OutageFigures } from './failures.ts';
import { holdRequests, playGateways } from './gateways.ts';
import { type HPAFigures, measureHPA } from './hpa.ts';
import { type Installation, installFleet, type Operator } from './installation.ts';
import { findLeader, measureRest, type RestFigures, settle, untilReady } from './rest.ts';
import { measureShortage, type ShortageFigures } from './shortage.ts';
import { measureStorm, type StormFigures } from './storm.ts';
import { measureWakes, untilReplicas } from './wakes.ts';

const MODELS = Number(process.env.MODELS ?? 1_000);
const PARTS = process.env.FLEET?.split(',');
const WORKSPACES = 40;
const GPUS = 50;
const STORM = 200;
/** Has half of the storm; so many others share the rest. */
const LARGE = 'team-large';
const STORMING = 20;
const WAKES = 100;
const CRASHES = 10;
const STEADY = 5;
const OUTAGE_MS = 60_000;
const REST_SECONDS = 60;
const SCALING = { min: 0, max: 10, targetConcurrency: 16, stableWindow: '15s', idleTimeout: '15s' };
/** The load of two replicas, away from thresholds. */
const STEADY_REQUESTS = 24;

export interface FleetFigures {
  models: number;
  rest?: RestFigures;
  wakesMs?: number[];
  storm?: StormFigures;
  crashes?: CrashFigures;
  outage?: OutageFigures;
  shortage?: ShortageFigures;
  hpa?: HPAFigures;
}

const isPart = (name: string): boolean => !PARTS || PARTS.includes(name);

export async function measureFleet(): Promise<FleetFigures> {
  const figures = await measureThousand();
  if (isPart('shortage')) figures.shortage = await measureShort();
  if (isPart('hpa')) figures.hpa = await measureByHPA();
  return figures;
}

async function measureThousand(): Promise<FleetFigures> {
  const figures: FleetFigures = { models: MODELS };
  if (!['rest', 'wakes', 'storm', 'crashes', 'outage'].some(isPart)) return figures;
  const installation = await installFleet({ gpus: GPUS, startMs: 5_000 });
  const pods = watchPods(installation.client);
  const gateways = playGateways(installation.redis.redis, pods);
  try {
    const models = await fill(installation);
    const operator = await installation.startOperator();
    await findLeader([operator]);
    await settle(operator);
    const next = takeFrom(models.slice(STORM));
    if (isPart('rest')) {
      console.log('  at rest…');
      figures.rest = await measureRest(installation, operator, REST_SECONDS);
    }
    if (isPart('wakes')) {
      console.log('  first requests…');
      figures.wakesMs = await measureWakes(installation, pods, next(WAKES));
    }
    if (isPart('storm')) {
      console.log('  a storm…');
      figures.storm = await measureStorm(installation, {
        pods,
        gateways,
        models: models.slice(0, STORM),
        large: LARGE,
      });
    }
    if (isPart('crashes') || isPart('outage'))
      await measureFailures(figures, { installation, pods, operator, next });
    return figures;
  } finally {
    gateways.close();
    pods.close();
    await installation.close();
  }
}

async function measureFailures(
  figures: FleetFigures,
  {
    installation,
    pods,
    operator,
    next,
  }: {
    installation: Installation;
    pods: PodWatch;
    operator: Operator;
    next: (count: number) => ModelName[];
  },
): Promise<void> {
  const steady = next(STEADY);
  const loads = steady.map((model) => holdRequests(installation.redis.redis, model, STEADY_REQUESTS));
  await untilReplicas(installation, steady, 2);
  const standby = await installation.startOperator();
  await untilReady(standby);
  const operators = [operator, standby];
  if (isPart('crashes')) {
    console.log('  crashes…');
    figures.crashes = await measureCrashes(installation, pods, { operators, steady, asleep: next(CRASHES) });
  }
  if (isPart('outage')) {
    console.log('  an outage…');
    figures.outage = await measureOutage(installation, pods, { steady, asleep: next(1)[0]!, ms: OUTAGE_MS });
  }
  for (const load of loads) load.stop();
}

/** Five minutes of load time, ten replicas wanted, four GPUs, one of which another deployment uses. */
async function measureShort(): Promise<ShortageFigures> {
  console.log('  a shortage…');
  const installation = await installFleet({ gpus: 4, startMs: 300_000 });
  const pods = watchPods(installation.client);
  const model = { namespace: 'team-0', name: 'model-0' };
  const other = { namespace: 'team-1', name: 'model-1' };
  try {
    await findLeader([await installation.startOperator()]);
    await createWorkspaces(installation.client, ['team-0', 'team-1']);
    await createModel(installation.client, other, {
      ...describe({ isOnGPU: true }),
      scaling: undefined,
      replicas: 1,
    });
    await createModel(installation.client, model, describe({ isOnGPU: true }));
    return await measureShortage(installation, pods, { model, other });
  } finally {
    pods.close();
    await installation.close();
  }
}

async function measureByHPA(): Promise<HPAFigures> {
  console.log('  an HPA…');
  const installation = await installFleet({ gpus: 0, startMs: 0 });
  try {
    const operator = await installation.startOperator();
    await findLeader([operator]);
    return await measureHPA(installation, operator);
  } finally {
    await installation.close();
  }
}

/** The first of them need a GPU each. */
async function fill({ client }: Installation): Promise<ModelName[]> {
  const models = Array.from({ length: MODELS }, (_, index) => ({
    namespace: nameWorkspace(index),
    name: `model-${index}`,
  }));
  console.log(`  creating ${MODELS} deployments…`);
  await createWorkspaces(client, [...new Set(models.map(({ namespace }) => namespace))]);
  await inParallel([...models.entries()], ([index, model]) =>
    createModel(client, model, describe({ isOnGPU: index < STORM })),
  );
  return models;
}

/** Requests of the storm alternate between the large workspace and another. */
function nameWorkspace(index: number): string {
  if (index >= STORM) return `team-${index % WORKSPACES}`;
  return index % 2 === 0 ? LARGE : `team-${((index - 1) / 2) % STORMING}`;
}

const describe = ({ isOnGPU }: { isOnGPU: boolean }): object => ({
  model: { id: 'bench/model' },
  engine: { preset: 'simulator' },
  gpu: isOnGPU ? { count: 1 } : undefined,
  resources: undefined,
  scaling: SCALING,
});

function takeFrom<T>(items: readonly T[]): (count: number) => T[] {
  const left = [...items];
  return (count) => left.splice(0, count);
}
