/** `berth`: one command for what people do with deployments, on a cluster or with `make run`. */
import { VERSION } from '../api/names.ts';
import { KubeApiError } from '../kube/api-error.ts';
import { readCatalog } from './deployment/catalog.ts';
import { deploy, printManifest } from './deployment/deploy.ts';
import { listDeployments } from './deployment/deployment.ts';
import { createKey } from './deployment/key.ts';
import { printLogs, readLogRequest } from './deployment/logs.ts';
import { explainDeployment } from './deployment/why.ts';
import { startAgent } from './endpoint/agent-start.ts';
import { chat } from './endpoint/chat.ts';
import { type Invocation, readCommandLine } from './framework/command-line.ts';
import type { CommandName } from './framework/commands.ts';
import { writeCompletion } from './framework/completion.ts';
import { Failure } from './framework/failure.ts';
import { Output } from './framework/output.ts';
import { findPlace, openTarget, type Place, type Target } from './framework/target.ts';
import { listenForWebhooks } from './listener/listen.ts';

type Run = (target: Target, invocation: Invocation, output: Output) => Promise<void>;

const runAgent =
  (name: 'claude' | 'codex' | 'opencode'): Run =>
  (target, invocation, output) =>
    startAgent(target, { ...invocation, name }, output);

/** Commands that call the API server. */
const RUNS: Record<Exclude<CommandName, 'listen'>, Run> = {
  why: (target, { positionals: [name] }, output) => explainDeployment(target, name!, output),
  logs: (target, invocation, output) =>
    printLogs(target, invocation.positionals[0]!, readLogRequest(invocation), output),
  key: (target, { positionals: [name], values }, output) =>
    createKey(target, { name, limits: values }, output),
  chat,
  deploy,
  claude: runAgent('claude'),
  codex: runAgent('codex'),
  opencode: runAgent('opencode'),
  completion: async (target, _, output) => {
    const names = await listDeployments(target);
    output.show(names, () => names.join('\n'));
  },
};

async function main(args: string[]): Promise<number> {
  const { stdout, stderr } = process;
  const streams = {
    out: (text: string) => stdout.write(text),
    error: (text: string) => stderr.write(text),
    isTerminal: stdout.isTTY === true,
  };
  const output = new Output(streams, args.includes('--json'));
  try {
    const line = readCommandLine(args, VERSION);
    if (line.kind === 'print') stdout.write(`${line.text}\n`);
    else if (!printOffline(line.invocation, output)) await run(line.invocation, output);
  } catch (error) {
    output.fail(explain(error as Error));
  }
  return output.exitCode;
}

/** What needs no API server; false if that is needed. */
function printOffline(invocation: Invocation, output: Output): boolean {
  const { name, positionals } = invocation;
  const [first = ''] = positionals;
  if (name === 'deploy') return printManifest(invocation, output);
  if (name !== 'completion' || first === 'deployments') return false;
  if (first === 'catalog') {
    const names = readCatalog().map((model) => model.name);
    output.show(names, () => names.join('\n'));
  } else {
    const script = writeCompletion(first);
    output.show({ script }, () => script);
  }
  return true;
}

async function run(invocation: Invocation, output: Output): Promise<void> {
  const { values, name } = invocation;
  if (name === 'listen') return listenForWebhooks(invocation, output, process.env);
  const place = findPlace(values, process.cwd(), process.env);
  enterCluster(place);
  const target = openTarget(place, values.namespace);
  try {
    await RUNS[name](target, invocation, output);
  } finally {
    await target.client.close();
  }
}

const ENTERED = 'BERTH_ENTERED';

/** Starts this command again where the addresses of `make cluster` resolve. */
function enterCluster(place: Place): void {
  const [program, ...args] = place.kind === 'made' ? place.endpoints.cluster!.exec : [];
  if (program === undefined || process.env[ENTERED]) return;
  const own = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.execve!(program, [program, ...args, ...own], {
    ...process.env,
    [ENTERED]: '1',
  } as NodeJS.ProcessEnv);
}

/** What to do about an API server that does not answer, or refuses. */
function explain(error: Error): Error {
  if (!(error instanceof KubeApiError)) return error;
  const { code, message } = error;
  if (code === 0)
    return new Failure(
      'unreachable',
      `the API server does not answer: ${message}; check that make run or the cluster still runs`,
    );
  return code === 404 ? new Failure('not_found', message) : error;
}

process.exitCode = await main(process.argv.slice(2));
