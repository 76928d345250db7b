/** `berth`: one command for what people do with deployments, on a cluster or with `make run`. */
import { once } from 'node:events';
import { VERSION } from '../api/names.ts';
import { DEFAULT_NAMESPACE } from '../launch/local-plan.ts';
import { readCatalog } from './deployment/catalog.ts';
import { deploy, printManifest } from './deployment/deploy.ts';
import { printHistory, rollBack } from './deployment/history.ts';
import { createKey } from './deployment/key.ts';
import { printLogs, readLogRequest } from './deployment/logs.ts';
import { restart } from './deployment/restart.ts';
import { explainDeployment } from './deployment/why.ts';
import { startAgent } from './endpoint/agent-start.ts';
import { runBatch } from './endpoint/batch.ts';
import { chat } from './endpoint/chat.ts';
import { explainRefusal } from './framework/api-refusal.ts';
import { asksForJSON, type Invocation, readCommandLine } from './framework/command-line.ts';
import type { CommandName } from './framework/commands.ts';
import { writeCompletion } from './framework/completion.ts';
import { Failure } from './framework/failure.ts';
import { runInForeground } from './framework/foreground.ts';
import { Output } from './framework/output.ts';
import { findPlace, openTarget, type Place, type Target } from './framework/target.ts';
import { listenForWebhooks } from './listener/listen.ts';

type Run = (target: Target, invocation: Invocation, output: Output) => Promise<void>;

const runAgent =
  (name: 'claude' | 'codex' | 'opencode'): Run =>
  (target, invocation, output) =>
    startAgent(target, { ...invocation, name }, output);

/** Commands that call the API server. */
const RUNS: Record<Exclude<CommandName, 'listen' | 'completion'>, Run> = {
  why: (target, { positionals: [name] }, output) => explainDeployment(target, name!, output),
  logs: (target, invocation, output) =>
    printLogs(target, invocation.positionals[0]!, readLogRequest(invocation), output),
  key: (target, { positionals: [name], values }, output) =>
    createKey(target, { name, limits: values }, output),
  chat,
  batch: runBatch,
  deploy,
  history: (target, { positionals: [name] }, output) => printHistory(target, name!, output),
  rollback: rollBack,
  restart,
  claude: runAgent('claude'),
  codex: runAgent('codex'),
  opencode: runAgent('opencode'),
};

async function main(args: string[]): Promise<number> {
  const { stdout, stderr } = process;
  // `berth logs … | head` has what it wants.
  let isBroken = false;
  for (const stream of [stdout, stderr])
    stream.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (args[0] !== 'listen') process.exit(code === 'EPIPE' ? 0 : 1);
      // It has an object to remove; a second signal would end it at once.
      if (!isBroken) process.kill(process.pid, 'SIGTERM');
      isBroken = true;
    });
  const streams = {
    out: (text: string) => stdout.write(text),
    error: (text: string) => stderr.write(text),
    drained: async () => {
      if (stdout.writableNeedDrain) await once(stdout, 'drain');
    },
    isTerminal: stdout.isTTY === true,
  };
  const output = new Output(streams, asksForJSON(args));
  try {
    const line = readCommandLine(args, VERSION);
    if (line.kind === 'print') stdout.write(`${line.text}\n`);
    else if (!printOffline(line.invocation, output)) await run(line.invocation, output);
  } catch (error) {
    output.fail(error as Error);
  }
  return output.exitCode;
}

/** What needs no API server; false if that is needed. */
function printOffline(invocation: Invocation, output: Output): boolean {
  const { name, positionals } = invocation;
  if (name === 'deploy') return printManifest(invocation, output);
  if (name !== 'completion') return false;
  const script = writeCompletion(
    positionals[0]!,
    readCatalog().map((model) => model.name),
  );
  output.show({ script }, () => script);
  return true;
}

async function run(invocation: Invocation, output: Output): Promise<void> {
  const { values, name } = invocation;
  if (name === 'listen') {
    const { namespace = DEFAULT_NAMESPACE } = values;
    return listenForWebhooks(invocation, output, process.env).catch((error: Error) => {
      throw explainRefusal(error, { where: 'make run', namespace });
    });
  }
  if (name === 'completion') return;
  const place = findPlace(values, process.cwd(), process.env);
  const entered = await enterCluster(place);
  if (entered !== undefined) {
    output.exitCode = entered;
    return;
  }
  const target = openTarget(place, values.namespace);
  try {
    await RUNS[name](target, invocation, output);
  } catch (error) {
    throw explainRefusal(error as Error, target);
  } finally {
    await target.client.close();
  }
}

/** The folder of the `make cluster` in whose network this process is. */
const ENTERED = 'BERTH_ENTERED';

/** Runs this command where the addresses of `make cluster` resolve, and resolves with its exit code. */
async function enterCluster(place: Place): Promise<number | undefined> {
  if (place.kind !== 'made' || process.env[ENTERED] === place.folder) return undefined;
  const [program, ...args] = place.endpoints.cluster!.exec;
  if (program === undefined) return undefined;
  if (process.getuid?.() !== 0)
    throw new Failure('unreachable', 'only root can enter the network of make cluster: run berth with sudo');
  const own = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  return runInForeground(program, [...args, ...own], { ...process.env, [ENTERED]: place.folder });
}

process.exitCode = await main(process.argv.slice(2));
