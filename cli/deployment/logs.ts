/** `berth logs`: the log of a deployment's pods, or all lines about a request. */
import { CONTAINERS } from '../../api/names.ts';
import { KubeApiError } from '../../kube/api-error.ts';
import type { LogOptions } from '../../kube/pod-log.ts';
import { withoutRemains } from '../../operator/status/pod-findings.ts';
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
  if (about === '') throw new Failure('usage', '--request must be the x-request-id of a response');
  const all = [CONTAINERS.gateway, CONTAINERS.engine];
  const isWhole = about !== undefined || since !== undefined;
  return {
    containers: container ? [container] : about === undefined ? [CONTAINERS.engine] : all,
    about,
    options: {
      tailLines: tail === undefined ? (isWhole ? undefined : TAIL_LINES) : Number(tail),
      sinceSeconds: since === undefined ? undefined : readDuration('since', since),
      previous: flags.has('previous') || undefined,
    },
  };
}

/** Ends with 1 if a log could not be read. Throws Failure if none could, or nothing is about the request. */
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
  const pods = withoutRemains(await listPods(target, await findDeployment(target, name)));
  if (pods.length === 0)
    throw new Failure('not_ready', `${name} has no pods, so there are no logs: berth why ${name} says why`);
  const sources = pods.flatMap(({ metadata }) =>
    containers.map((container) => ({ pod: metadata.name, container })),
  );
  let count = 0;
  const problems: KubeApiError[] = [];
  for (const { pod, container } of sources) {
    const prefix = sources.length > 1 ? `[${pod}/${container}] ` : '';
    const at = { namespace: target.namespace, name: pod };
    try {
      for await (const line of target.client.readLog(at, { ...options, container })) {
        if (line === '' || (about !== undefined && !line.includes(about))) continue;
        count++;
        output.show({ pod, container, line: parseLine(line) }, () => prefix + formatLine(line));
        await output.drain();
      }
    } catch (error) {
      if (!(error instanceof KubeApiError)) throw error;
      problems.push(error);
      output.report({ pod, container, error: error.message }, `${prefix}${error.message}`);
    }
  }
  if (problems.length === sources.length) throw problems[0]!;
  if (problems.length > 0) output.endWith('failed');
  if (about !== undefined && count === 0)
    throw new Failure(
      'not_found',
      `no line about ${about} in the logs of ${pods.length} pods of ${name}: their logs may begin later, or the gateways' log level be warn`,
    );
}
