/** `berth deploy`: applies a manifest of the catalog or a file, and waits until its deployments are ready. */
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject } from '../../kube/object.ts';
import { RESOURCES, type Resource } from '../../kube/resource.ts';
import { readManifests } from '../../launch/manifests.ts';
import type { Invocation } from '../framework/command-line.ts';
import { readDuration } from '../framework/duration.ts';
import { Failure } from '../framework/failure.ts';
import { type Output, printable } from '../framework/output.ts';
import { BERTH_RESOURCES } from '../framework/resources.ts';
import type { Target } from '../framework/target.ts';
import { catalogPath, formatCatalog, readCatalog } from './catalog.ts';
import type { Deployment } from './deployment.ts';
import { findCause, formatCause } from './why.ts';

const FIELD_MANAGER = 'berth';
const TIMEOUT = '1h';
const INTERVAL_MS = 1_000;

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
  if (existsSync(named)) return { path: named, isOfCatalog: false };
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
  output.show(
    readManifests([path]).map(({ object }) => object),
    () => readFileSync(path, 'utf8').trimEnd(),
  );
  return true;
}

export async function deploy(
  target: Target,
  { positionals: [named], values, flags }: Invocation,
  output: Output,
): Promise<void> {
  const timeoutMs = readDuration('timeout', values.timeout ?? TIMEOUT) * 1_000;
  const objects = readObjects(target, named!, values.namespace);
  for (const object of objects) {
    const { kind, metadata } = object;
    await target.client.apply(ALLOWED[kind]!, object, { fieldManager: FIELD_MANAGER });
    output.note(`${kind} ${metadata.name} is applied in ${metadata.namespace}.`);
  }
  const deployments = objects.filter(({ kind }) => kind === 'ModelDeployment');
  const deadline = performance.now() + timeoutMs;
  for (const { metadata } of deployments) {
    const place = { ...target, namespace: metadata.namespace! };
    if (flags.has('no-wait')) showDeployment(await read(place, metadata.name), output);
    else await waitUntilReady(place, metadata.name, { deadline, output });
  }
}

/** Throws Failure, before anything is applied. */
function readObjects(target: Target, named: string, asked: string | undefined): KubeObject[] {
  const { path, isOfCatalog } = findManifest(named);
  return readManifests([path]).map(({ object }) => {
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

const read = ({ client, namespace }: Target, name: string): Promise<Deployment> =>
  client.get<Deployment>(BERTH_RESOURCES.ModelDeployment, { namespace, name });

/** Reports each new reason. Ends with `not_ready` if it is stalled, or the deadline is over. */
async function waitUntilReady(
  target: Target,
  name: string,
  { deadline, output }: { deadline: number; output: Output },
): Promise<void> {
  let reported = '';
  for (;;) {
    const deployment = await read(target, name);
    const { conditions = [], observedGeneration = 0 } = deployment.status ?? {};
    const find = (type: string) => conditions.find((condition) => condition.type === type);
    const isSeen = observedGeneration >= (deployment.metadata.generation ?? 0);
    const ready = isSeen ? find('Ready') : undefined;
    if (ready?.status === 'True') return showDeployment(deployment, output);
    const isStalled = isSeen && find('Stalled')?.status === 'True';
    if (isStalled || performance.now() > deadline) {
      const cause = await findCause(target, deployment);
      output.show(cause, () => formatCause(cause));
      return output.endWith('not_ready');
    }
    const [message = ''] = (ready?.message ?? '').split('\n');
    if (message !== '' && message !== reported) output.note(`${name}: ${printable(message)}`);
    reported = message;
    await sleep(INTERVAL_MS);
  }
}

function showDeployment({ metadata, status }: Deployment, output: Output): void {
  const { name, namespace } = metadata;
  const { url = null, phase = 'Unknown', conditions = [] } = status ?? {};
  const ready = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  output.show({ name, namespace, ready, phase, url }, () =>
    ready
      ? `${name} is ready: ${url}\nA key for it: berth key -n ${namespace}`
      : `${name} is applied. What it waits for: berth why ${name} -n ${namespace}`,
  );
}
