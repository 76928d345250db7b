/** `make listen` and `berth-listen`: shows a workspace's webhooks, and forwards them to a local program. */
import { createInterface, type Interface } from 'node:readline';
import { VERSION } from '../../api/names.ts';
import { LISTEN_VARIABLES } from '../environment.ts';
import { type Command, readArguments, USAGE } from './arguments.ts';
import { listenToConsole } from './console-listening.ts';
import type { Listening } from './listening.ts';
import { findStateFolder, listenToRun } from './local-run.ts';

const print = (line: string) => console.log(line);

async function main(): Promise<void> {
  const command = readArguments(process.argv.slice(2));
  if (command.kind === 'help') print(USAGE);
  else if (command.kind === 'version') print(VERSION);
  else await listen(command);
}

async function listen({ target, source }: Extract<Command, { kind: 'listen' }>): Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  // A second one exits at once.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort());
  const listening =
    source.kind === 'run'
      ? await listenToRun({
          folder: findStateFolder(source.folder, process.cwd(), process.env),
          namespace: source.namespace,
          target,
          print,
          signal,
        })
      : await listenToConsole({
          source,
          token: process.env[LISTEN_VARIABLES.token.name] ?? null,
          target,
          print,
          signal,
        });
  const lines = followCommands(listening);
  try {
    if (!signal.aborted) {
      const forwards = target
        ? `forwards them to ${target}; r and Enter replays the last, r 3 the third`
        : 'shows them';
      print(`Receives the webhooks of ${listening.namespace} and ${forwards}. Ctrl-C ends it.`);
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

main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
