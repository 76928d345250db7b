/** `berth listen`: shows a workspace's webhooks, and forwards them to a local program. */
import { createInterface, type Interface } from 'node:readline';
import type { Variables } from '../../kit/environment.ts';
import type { Invocation } from '../framework/command-line.ts';
import { CLI_VARIABLES } from '../framework/environment.ts';
import type { Output } from '../framework/output.ts';
import { findPlace } from '../framework/target.ts';
import { readArguments } from './arguments.ts';
import { listenToConsole } from './console-listening.ts';
import type { Print } from './inbox.ts';
import type { Listening } from './listening.ts';
import { listenToRun } from './local-run.ts';

export async function listenForWebhooks(
  { positionals: [url], values, flags }: Invocation,
  output: Output,
  variables: Variables,
): Promise<void> {
  const { target, source } = readArguments(url, values, flags);
  const ending = new AbortController();
  const { signal } = ending;
  // A second one exits at once.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => ending.abort());
  const print: Print = (line, fact) => {
    if (fact || !output.isJSON) output.show(fact ?? {}, () => line);
  };
  const shared = { target, print, signal };
  const listening =
    source.kind === 'run'
      ? await listenToRun({
          ...shared,
          place: findPlace(values, process.cwd(), variables),
          namespace: values.namespace,
        })
      : await listenToConsole({ ...shared, source, token: variables[CLI_VARIABLES.token.name] ?? null });
  const lines = followCommands(listening);
  try {
    if (!signal.aborted) {
      const { namespace } = listening;
      const forwards = target
        ? `forwards them to ${target}; r and Enter replays the last, r 3 the third`
        : 'shows them';
      print(`Receives the webhooks of ${namespace} and ${forwards}. Ctrl-C ends it.`, { namespace, target });
      const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      await Promise.race([aborted, listening.ended ?? aborted]);
    }
  } finally {
    lines.close();
    ending.abort();
    await listening.close();
  }
}

function followCommands({ replay }: Listening): Interface {
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const match = /^\s*r(?:eplay)?(?:\s+#?(\d+))?\s*$/.exec(line);
    if (match) void replay(match[1] === undefined ? undefined : Number(match[1]));
  });
  return lines;
}
