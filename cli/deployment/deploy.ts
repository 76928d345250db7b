/** `berth deploy`: applies a manifest of the catalog or a file, and waits until its deployments are ready. */
import { readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isConflict } from '../../kube/api-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import { RESOURCES, type Resource } from '../../kube/resource.ts';
import { readManifests } from '../../launch/manifests.ts';
import { BERTH_RESOURCES } from '../../operator/framework/berth-resources.ts';
import { explainRefusal } from '../framework/api-refusal.ts';
import type { Invocation } from '../framework/command-line.ts';
import { readDuration } from '../framework/duration.ts';
import { Failure } from '../framework/failure.ts';
import type { Output } from '../framework/output.ts';
import type { Target } from '../framework/target.ts';
import { isPassing } from '../framework/wait.ts';
import { catalogPath, formatCatalog, readCatalog } from './catalog.ts';
import { type Deployment, isSeen } from './deployment.ts';
import { describeReady, findCause, formatCause } from './why.ts';

const FIELD_MANAGER = 'berth';
const TIMEOUT = '1h';
const INTERVAL_MS = 1_000;
/** The same reason again, so that a long wait is no silence. */
const REMINDER_MS = 60_000;
/** An Ingress or a Gateway may take that long; one that is missing takes forever. */
const ROUTE_MS = 120_000;

const ALLOWED: Record<string, Resource> = {
  ...BERTH_RESOURCES,
  Secret: RESOURCES.Secret,
  ConfigMap: RESOURCES.ConfigMap,
  PersistentVolumeClaim: RESOURCES.PersistentVolumeClaim,
};

/** The file of a name in the catalog, or the one that is named. Throws Failure with what there is. */
export function findManifest(named: string): { path: string; isOfCatalog: boolean } {
  const models = readCatalog();
  const found = models.find(({ name }) => name === named);
  if (found) return { path: catalogPath(found.file), isOfCatalog: true };
  if (statSync(named, { throwIfNoEntry: false })?.isFile()) return { path: named, isOfCatalog: false };
  const names = models.map(({ name }) => name).join(', ');
  throw new Failure('not_found', `${named} is neither a file nor in the catalog, which has ${names}`);
}

/** Prints the catalog or a manifest; false if something is to be deployed. */
export function printManifest({ positionals: [named], flags }: Invocation, output: Output): boolean {
  if (named === undefined) {
    const models = readCatalog();
    output.show(models, () => formatCatalog(models));
    return true;
  }
  const { path } = findManifest(named);
  if (!flags.has('print')) return false;
  output.show(readFile(path), () => readFileSync(path, 'utf8').trimEnd());
  return true;
}

export async function deploy(
  target: Target,
  { positionals: [named], values, flags }: Invocation,
  output: Output,
): Promise<void> {
  const timeoutMs = readDuration('timeout', values.timeout ?? TIMEOUT) * 1_000;
  const objects = readObjects(target, named!, values.namespace);
  output.note(`Deploys to ${target.where}.`);
  await applyAll(target, objects, { force: flags.has('force-conflicts'), output });
  const deployments = objects.filter(({ kind }) => kind === 'ModelDeployment');
  const deadline = performance.now() + timeoutMs;
  for (const { metadata } of deployments) {
    const place = { ...target, namespace: metadata.namespace! };
    if (flags.has('no-wait')) showDeployment(await read(place, metadata.name), output);
    else await waitUntilReady(place, metadata.name, { deadline, output });
  }
}

/** In the order of the file. Throws Failure with what is not applied. */
async function applyAll(
  target: Target,
  objects: readonly KubeObject[],
  { force, output }: { force: boolean; output: Output },
): Promise<void> {
  for (const [index, object] of objects.entries()) {
    const { kind, metadata } = object;
    try {
      await target.client.apply(ALLOWED[kind]!, object, { fieldManager: FIELD_MANAGER, force });
    } catch (error) {
      const remedy = isConflict(error) ? '; --force-conflicts takes these fields over' : '';
      const left = objects.slice(index + 1).map((next) => `${next.kind} ${next.metadata.name}`);
      const rest = left.length > 0 ? `; not applied either: ${left.join(', ')}` : '';
      const refusal = explainRefusal(error as Error, target);
      const reason = refusal instanceof Failure ? refusal.kind : 'failed';
      throw new Failure(reason, `${refusal.message}${remedy}${rest}`, { cause: error });
    }
    output.note(`${kind} ${metadata.name} is applied in ${metadata.namespace}.`);
  }
}

/** Throws Failure, before anything is applied. */
function readObjects(target: Target, named: string, asked: string | undefined): KubeObject[] {
  const { path, isOfCatalog } = findManifest(named);
  return readFile(path).map((object) => {
    const { kind, metadata } = object;
    const resource = ALLOWED[kind];
    if (resource?.apiVersion !== object.apiVersion)
      throw new Failure(
        'usage',
        `${path} has a ${kind} of ${object.apiVersion}; berth deploys ${Object.keys(ALLOWED).join(', ')}: apply the rest with kubectl`,
      );
    const own = isOfCatalog ? undefined : metadata.namespace;
    if (own && asked && own !== asked)
      throw new Failure(
        'usage',
        `${kind} ${metadata.name} in ${path} is of the namespace ${own}, not ${asked}`,
      );
    return { ...object, metadata: { ...metadata, namespace: own ?? target.namespace } };
  });
}

function readFile(path: string): KubeObject[] {
  const objects = attempt(() => readManifests([path]).map(({ object }) => object));
  if (objects.length === 0) throw new Failure('usage', `${path} has no objects`);
  return objects;
}

function attempt<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Failure('usage', (error as Error).message, { cause: error });
  }
}

const read = ({ client, namespace }: Target, name: string): Promise<Deployment> =>
  client.get<Deployment>(BERTH_RESOURCES.ModelDeployment, { namespace, name });

/** Reports each new reason, and again from time to time. Ends with `not_ready` if waiting does not help, or the deadline is over. */
export async function waitUntilReady(
  target: Target,
  name: string,
  { deadline, output, routeMs = ROUTE_MS }: { deadline: number; output: Output; routeMs?: number },
): Promise<void> {
  let unroutedSince: number | undefined;
  let reported = { message: '', at: 0 };
  const report = (message: string) => {
    const now = performance.now();
    if (message === '' || (message === reported.message && now - reported.at < REMINDER_MS)) return;
    output.note(`${name}: ${message}`);
    reported = { message, at: now };
  };
  for (;;) {
    const now = performance.now();
    const isOver = now > deadline;
    try {
      const deployment = await read(target, name);
      const { state, message } = judge(deployment);
      if (state === 'ready') return showDeployment(deployment, output);
      unroutedSince = state === 'unrouted' ? (unroutedSince ?? now) : undefined;
      const hasNoRoute = unroutedSince !== undefined && now - unroutedSince >= routeMs;
      if (state === 'stalled' || hasNoRoute || isOver) {
        const cause = await findCause(target, deployment);
        output.show(cause, () => formatCause(cause));
        return output.endWith('not_ready');
      }
      report(message);
    } catch (error) {
      if (!isPassing(error) || isOver) throw error;
      report(error.message);
    }
    await sleep(INTERVAL_MS);
  }
}

type Progress = { state: 'ready' | 'stalled' | 'unrouted' | 'waiting'; message: string };

function judge(deployment: Deployment): Progress {
  if (!isSeen(deployment)) return { state: 'waiting', message: '' };
  const { phase, conditions = [] } = deployment.status ?? {};
  const find = (type: string) => conditions.find((condition) => condition.type === type);
  const ready = find('Ready');
  const [message = ''] = (ready?.message ?? '').split('\n');
  if (ready?.status === 'True') return { state: 'ready', message };
  if (find('Stalled')?.status === 'True') return { state: 'stalled', message };
  // Its pods are ready.
  return { state: phase === 'Unrouted' ? 'unrouted' : 'waiting', message };
}

function showDeployment({ metadata, status }: Deployment, output: Output): void {
  const { name, namespace } = metadata;
  const { url = null, phase = 'Unknown', conditions = [] } = status ?? {};
  const ready = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  output.show({ name, namespace, ready, phase, url }, () =>
    ready
      ? `${name} ${describeReady(phase)}: ${url}\nA key for it: berth key -n ${namespace}`
      : `${name} is applied. What it waits for: berth why ${name} -n ${namespace}`,
  );
}
