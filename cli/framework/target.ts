/** What the commands speak to: a `make run` on this machine, or a cluster by kubeconfig. */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Variables } from '../../kit/environment.ts';
import { createKubeClient, type KubeClient } from '../../kube/client.ts';
import { type KubeConfigSource, loadKubeConfig } from '../../kube/connection.ts';
import { type EndpointsFile, FILE_NAME, readEndpoints } from '../../launch/endpoints-file.ts';
import { DEFAULT_FOLDER } from '../../launch/environment.ts';
import { DEFAULT_NAMESPACE } from '../../launch/local-plan.ts';
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
  | { kind: 'made'; endpoints: EndpointsFile }
  | { kind: 'cluster'; source: KubeConfigSource };

export interface Target {
  client: KubeClient;
  namespace: string;
  /** Name of the place, for messages. */
  where: string;
  place: Place;
}

/** The given folder, that of a running `make run` here or above, or of its kubeconfig. */
export function findStateFolder(named: string | undefined, cwd: string, variables: Variables): string {
  const chosen = named ?? variables.BERTH_STATE;
  if (chosen) return resolve(cwd, chosen);
  const isRunning = (folder: string) => existsSync(join(folder, FILE_NAME));
  for (let parent = cwd; ; parent = dirname(parent)) {
    const folder = join(parent, DEFAULT_FOLDER);
    if (isRunning(folder)) return folder;
    if (parent === dirname(parent)) break;
  }
  const beside = variables.KUBECONFIG && dirname(resolve(cwd, variables.KUBECONFIG));
  return beside && isRunning(beside) ? beside : join(cwd, DEFAULT_FOLDER);
}

/** Throws Failure if a named folder has nothing running. */
export function findPlace(options: TargetOptions, cwd: string, variables: Variables): Place {
  const { folder: named, kubeconfig, context } = options;
  if (named && (kubeconfig ?? context))
    throw new Failure('usage', '--folder is of make run; give either it, or --kubeconfig and --context');
  if (kubeconfig ?? context)
    return {
      kind: 'cluster',
      source: { ...(kubeconfig && { file: kubeconfig }), ...(context && { context }) },
    };
  const folder = findStateFolder(named, cwd, variables);
  const endpoints = readEndpoints(join(folder, FILE_NAME));
  if (endpoints) return endpoints.cluster ? { kind: 'made', endpoints } : { kind: 'run', folder, endpoints };
  if (named ?? variables.BERTH_STATE)
    throw new Failure(
      'unreachable',
      `nothing is running in ${folder}: start make run or make cluster first, or name another folder with --folder`,
    );
  return { kind: 'cluster', source: {} };
}

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
