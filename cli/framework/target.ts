/** What the commands speak to: a `make run` on this machine, or a cluster by kubeconfig. */
import { dirname, join, resolve } from 'node:path';
import type { Variables } from '../../kit/environment.ts';
import { createKubeClient, type KubeClient } from '../../kube/client.ts';
import { type KubeConfigSource, loadKubeConfig } from '../../kube/connection.ts';
import { type EndpointsFile, FILE_NAME, readEndpoints } from '../../launch/endpoints-file.ts';
import { DEFAULT_FOLDER } from '../../launch/environment.ts';
import { DEFAULT_NAMESPACE } from '../../launch/local-plan.ts';
import { findOwnRun, isInUse, looksLikeRun } from '../../launch/own-runs.ts';
import { Failure } from './failure.ts';

export interface TargetOptions {
  /** State folder of `make run`. */
  folder?: string | undefined;
  kubeconfig?: string | undefined;
  context?: string | undefined;
  namespace?: string | undefined;
}

/** Where it was found. */
export type Place =
  | { kind: 'run'; folder: string; endpoints: EndpointsFile }
  /** A `make cluster`: only its `exec` prefix leads to its addresses. */
  | { kind: 'made'; folder: string; endpoints: EndpointsFile }
  | { kind: 'cluster'; source: KubeConfigSource };

export interface Target {
  client: KubeClient;
  namespace: string;
  /** Name of the place, for messages. */
  where: string;
  place: Place;
}

/** Throws Failure if a named folder has nothing running. `cache`: where this user's runs are listed. */
export function findPlace(options: TargetOptions, cwd: string, variables: Variables, cache?: string): Place {
  const { folder, kubeconfig, context } = options;
  if (folder && (kubeconfig ?? context))
    throw new Failure('usage', '--folder is of make run; give either it, or --kubeconfig and --context');
  if (kubeconfig ?? context)
    return {
      kind: 'cluster',
      source: { ...(kubeconfig && { file: kubeconfig }), ...(context && { context }) },
    };
  const named = folder ?? variables.BERTH_STATE;
  const found = named ? resolve(cwd, named) : findStateFolder(cwd, variables, cache);
  if (found === undefined) return { kind: 'cluster', source: {} };
  const own = findOwnRun(found, cache);
  const place = own?.folder ?? found;
  const endpoints = readFolder(place);
  // Not the cluster of a kubeconfig in its place, which may be anything.
  if (!endpoints)
    throw new Failure(
      'unreachable',
      isInUse(place)
        ? `make run is starting in ${place}: try again once it has its addresses`
        : `nothing is running in ${place}: start make run or make cluster first, or name another folder with --folder`,
    );
  // What the command line names is trusted, but to run a program.
  const isTrusted = folder !== undefined && !endpoints.cluster;
  if (!isTrusted && own?.state !== 'running') throw refuseFolder(place, own?.state);
  return { kind: endpoints.cluster ? 'made' : 'run', folder: place, endpoints };
}

function readFolder(folder: string): EndpointsFile | undefined {
  try {
    return readEndpoints(join(folder, FILE_NAME));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') throw refuseFolder(folder, undefined);
    throw error;
  }
}

/** That of this user's `make run` or `make cluster` here or above, or of its kubeconfig. Throws Failure for one that is not this user's. */
function findStateFolder(cwd: string, variables: Variables, cache?: string): string | undefined {
  const beside = variables.KUBECONFIG && dirname(resolve(cwd, variables.KUBECONFIG));
  for (const folder of [...listStateFolders(cwd), ...(beside ? [beside] : [])]) {
    if (findOwnRun(folder, cache)) return folder;
    if (looksLikeRun(folder)) throw refuseFolder(folder, undefined);
  }
  return undefined;
}

function* listStateFolders(cwd: string): Generator<string> {
  for (let parent = cwd; ; parent = dirname(parent)) {
    yield join(parent, DEFAULT_FOLDER);
    if (parent === dirname(parent)) return;
  }
}

const refuseFolder = (folder: string, state: string | undefined): Failure =>
  new Failure(
    'unreachable',
    state === 'ended'
      ? `the make run of ${folder} has ended: start it again, or choose a cluster with --context or --kubeconfig`
      : `${folder} is not of a make run or make cluster that you started, or is open to others: ` +
          'use sudo berth for make cluster, or choose a cluster with --context or --kubeconfig',
  );

/** Close its client. Throws Failure if there is no cluster. */
export function openTarget(place: Place, namespace: string | undefined): Target {
  try {
    const config = loadKubeConfig(sourceOf(place));
    const own = config.getContextObject(config.currentContext)?.namespace;
    return {
      client: createKubeClient({ config, userAgent: 'berth' }),
      namespace: namespace ?? own ?? DEFAULT_NAMESPACE,
      where: place.kind === 'run' ? `make run in ${place.folder}` : `the context ${config.currentContext}`,
      place,
    };
  } catch (error) {
    const { message } = error as Error;
    const remedy = 'start make run here, or name a kubeconfig with --kubeconfig';
    throw new Failure('unreachable', `there is nothing to speak to: ${message}; ${remedy}`, { cause: error });
  }
}

function sourceOf(place: Place): KubeConfigSource {
  if (place.kind === 'cluster') return place.source;
  const file = place.kind === 'run' ? join(place.folder, 'kubeconfig') : place.endpoints.cluster!.kubeconfig;
  return { file };
}
