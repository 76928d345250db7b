/** `berth logs`: the log of a deployment's pods, or all lines about a request. */
import { CONTAINERS } from '../../api/names.ts';
import { KubeApiError } from '../../kube/api-error.ts';
import type { LogOptions } from '../../kube/pod-log.ts';
import type { Invocation } from '../framework/command-line.ts';
import { readDuration } from '../framework/duration.ts';
import { Failure } from '../framework/failure.ts';
import type { Output } from '../framework/output.ts';
import type { Target } from '../framework/target.ts';
import { findDeployment, listPods } from './deployment.ts';
import { formatLine, parseLine } from './log-line.ts';

export interface LogRequest {
  containers: string[];
  /** Only lines with this text. */
  about: string | undefined;
  options: Omit<LogOptions, 'container'>;
}

const TAIL_LINES = 100;

/** Throws Failure with what is allowed. A search reads whole logs. */
export function readLogRequest({ values, flags }: Pick<Invocation, 'values' | 'flags'>): LogRequest {
  const { request: about, container, tail, since } = values;
  if (tail !== undefined && !/^\d{1,9}$/.test(tail))
    throw new Failure('usage', `--tail must be a number of lines, not "${tail}"`);
  const all = [CONTAINERS.gateway, CONTAINERS.engine];
  const isWhole = about !== undefined || since !== undefined;
  return {
    containers: container ? [container] : about === undefined ? [CONTAINERS.engine] : all,
    about,
    options: {
      tailLines: tail === undefined ? (isWhole ? undefined : TAIL_LINES) : Number(tail),
      sinceSeconds: since === undefined ? undefined : readDuration('since', since),
      previous: flags.has('previous') || undefined,
      follow: flags.has('follow') || undefined,
    },
  };
}

interface Source {
  pod: string;
  container: string;
}

/** Throws Failure if nothing could be read, or nothing is about the request. */
export async function printLogs(
  target: Target,
  name: string,
  { containers, about, options }: LogRequest,
  output: Output,
): Promise<void> {
  if (target.place.kind === 'run' && (options.previous || options.sinceSeconds !== undefined))
    throw new Failure(
      'usage',
      'make run has one log per container, earlier runs included, without times: leave out --previous and --since; --tail takes the last lines',
    );
  await findDeployment(target, name);
  const pods = await listPods(target, name);
  if (pods.length === 0)
    throw new Failure('not_ready', `${name} has no pods, so there are no logs: berth why ${name} says why`);
  const sources = pods.flatMap(({ metadata }) =>
    containers.map((container): Source => ({ pod: metadata.name, container })),
  );
  let count = 0;
  const print = async ({ pod, container }: Source): Promise<void> => {
    const prefix = sources.length > 1 ? `[${pod}/${container}] ` : '';
    const lines = target.client.readLog(
      { namespace: target.namespace, name: pod },
      { ...options, container },
    );
    for await (const line of lines) {
      if (line === '' || (about !== undefined && !line.includes(about))) continue;
      count++;
      output.show({ pod, container, line: parseLine(line) }, () => prefix + formatLine(line));
    }
  };
  const problems = await printEach(sources, print, options.follow === true);
  for (const problem of problems) output.note(problem.message);
  if (problems.length === sources.length) throw problems[0]!;
  if (about !== undefined && count === 0)
    throw new Failure(
      'not_found',
      `no line about ${about} in the logs of ${pods.length} pods of ${name}: their logs may begin later, or the gateways' log level be warn`,
    );
}

/** Followed logs at the same time, others in turn. Returns what could not be read. */
async function printEach(
  sources: Source[],
  print: (source: Source) => Promise<void>,
  atOnce: boolean,
): Promise<Error[]> {
  const problems: Error[] = [];
  const attempt = (source: Source) =>
    print(source).catch((error: unknown) => {
      // The container has not started, or the pod is gone.
      if (!(error instanceof KubeApiError) || ![400, 404].includes(error.code)) throw error;
      problems.push(error);
    });
  if (atOnce) await Promise.all(sources.map(attempt));
  else for (const source of sources) await attempt(source);
  return problems;
}
