/** `cluster.ts up|down|status|logs`: run by `make cluster` and its companions. */
import { chmodSync } from 'node:fs';
import { stopCluster } from '../cluster/cluster.ts';
import { hasCluster, readCluster } from '../cluster/layout.ts';
import { NODE_LOGS, readNodeLog } from '../cluster/node.ts';
import { describeWebhooks } from './cluster-endpoints.ts';
import { installCluster } from './cluster-up.ts';
import { readEndpoints, removeEndpoints, writeEndpoints } from './endpoints-file.ts';
import { CLUSTER_NAME, DEFAULT_FOLDER } from './environment.ts';
import { writeGuide } from './guide.ts';
import { runKubectl } from './kubectl.ts';
import { listOwnRun, unlistOwnRun } from './own-runs.ts';
import { RELEASE_NAMESPACE } from './release.ts';

const COMMANDS: Record<string, () => Promise<void>> = { up, down, status, logs };

async function up(): Promise<void> {
  await refuseBesideRun();
  const { endpoints } = await installCluster(CLUSTER_NAME);
  writeEndpoints(endpoints);
  // Its keys are in it.
  chmodSync(DEFAULT_FOLDER, 0o700);
  listOwnRun(DEFAULT_FOLDER);
  console.log(`\n${writeGuide(endpoints)}\n\nmake cluster-status shows it, make cluster-down stops it.`);
}

/** `make run` owns the same file while it serves. */
async function refuseBesideRun(): Promise<void> {
  const running = readEndpoints();
  if (running?.mode !== 'local') return;
  const isServing = await fetch(running.unknownURL, { signal: AbortSignal.timeout(1_000) }).then(
    () => true,
    () => false,
  );
  if (isServing) throw new Error('make run is running and owns .berth/endpoints.json: stop it first');
}

async function down(): Promise<void> {
  if (readEndpoints()?.mode === 'cluster') {
    removeEndpoints();
    unlistOwnRun(DEFAULT_FOLDER);
  }
  await stopCluster(CLUSTER_NAME);
  console.log(`cluster ${CLUSTER_NAME} stopped`);
}

async function status(): Promise<void> {
  if (!hasCluster(CLUSTER_NAME))
    return console.log(`there is no cluster ${CLUSTER_NAME}: make cluster starts one`);
  const cluster = readCluster(CLUSTER_NAME);
  for (const what of ['nodes', 'modeldeployments', 'pods'])
    console.log(
      `\n${await runKubectl(cluster, ['get', what, '-A', '-o', 'wide', '--request-timeout=5s'])}`.trimEnd(),
    );
  // The secret may have been rolled since.
  const endpoints = readEndpoints();
  if (endpoints?.mode === 'cluster')
    writeEndpoints({ ...endpoints, webhooks: await describeWebhooks(cluster) });
}

/** A component of the cluster, or one of Berth's own: operator, front, console, redis. */
async function logs(): Promise<void> {
  const cluster = readCluster(CLUSTER_NAME);
  const component = process.argv[3] ?? 'operator';
  if (NODE_LOGS.includes(component)) return console.log(await readNodeLog(cluster, component));
  const selector = `app.kubernetes.io/name=berth,app.kubernetes.io/component=${component}`;
  const text = await runKubectl(cluster, [
    'logs',
    '-n',
    RELEASE_NAMESPACE,
    '-l',
    selector,
    '--prefix',
    '--tail=200',
  ]);
  if (text === '')
    throw new Error(`unknown log; choose one of: operator, front, console, redis, ${NODE_LOGS.join(', ')}`);
  console.log(text);
}

const command = COMMANDS[process.argv[2] ?? ''];
if (!command) {
  console.error(`usage: cluster.ts ${Object.keys(COMMANDS).join('|')}`);
  process.exit(2);
}
command().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
