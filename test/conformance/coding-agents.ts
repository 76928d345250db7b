/** Coding agents as docs/coding-agents.md sets them up, each in a home of its own. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';
import { ensureNpmProgram } from '../support/npm-program.ts';
import { type RecordedRequest, startRecordingProxy } from '../support/recording-proxy.ts';

export interface Agent {
  /** Its heading in the page. */
  name: string;
  package: string;
  program: string;
  /** Arguments of a prompt that is answered without a person. */
  ask: readonly string[];
  /** The same in the conversation before. */
  resume: readonly string[];
  /** Names a tool that can do no harm, whatever it is called with. */
  toolPrompt: string;
  /** Most seconds from its first request to the message of one that fails. */
  patienceSeconds: number;
  /** Most requests for a prompt that fails. */
  maxRequests: number;
  /** Hosts that it asks nevertheless. */
  outside: readonly string[];
}

export const AGENTS: readonly Agent[] = [
  {
    name: 'Claude Code',
    package: '@anthropic-ai/claude-code@2.1.332',
    program: 'claude',
    ask: ['--print'],
    resume: ['--print', '--continue'],
    toolPrompt: 'Read the file.',
    patienceSeconds: 10,
    maxRequests: 11,
    outside: [],
  },
  {
    name: 'Codex',
    package: '@openai/codex@0.171.0',
    program: 'codex',
    ask: ['exec', '--skip-git-repo-check'],
    resume: ['exec', 'resume', '--last', '--skip-git-repo-check'],
    toolPrompt: 'Please view_image.',
    patienceSeconds: 40,
    // Five attempts at a request, six requests for a turn.
    maxRequests: 30,
    outside: [],
  },
  {
    name: 'opencode',
    package: 'opencode-ai@1.18.33',
    program: 'opencode',
    ask: ['run', '--title', 'Ships'],
    resume: ['run', '--continue'],
    toolPrompt: 'Please read.',
    patienceSeconds: 90,
    maxRequests: 6,
    outside: ['registry.npmjs.org:443'],
  },
];

export interface AgentRun {
  output: string;
  code: number | null;
  requests: RecordedRequest[];
  /** Hosts that it tried to reach besides the endpoint. */
  outside: string[];
  /** From its first request until it ended. */
  seconds: number;
}

/** The names of the page's examples. */
const SAMPLE_ORIGIN = 'https://qwen3-coder--default.models.example.com';
const SAMPLE_MODEL = 'qwen/qwen3-coder';
const PAGE = readFileSync('docs/coding-agents.md', 'utf8');
const RUN_TIMEOUT_MS = 170_000;

/** One person's agent, whose conversations are kept until it is removed. */
export class AgentHome {
  readonly #agent: Agent;
  readonly #folder = mkdtempSync(join(tmpdir(), 'berth-agent-'));

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  async run(
    { baseURL, modelId, apiKey }: Pick<EndpointEntry, 'baseURL' | 'modelId' | 'apiKey'>,
    args: readonly string[],
  ): Promise<AgentRun> {
    const proxy = await startRecordingProxy(new URL(baseURL).origin);
    const fill = (text: string) =>
      text.replaceAll(SAMPLE_ORIGIN, proxy.origin).replaceAll(SAMPLE_MODEL, modelId);
    const { files, variables } = readSetup(this.#agent.name);
    for (const [path, text] of files) {
      const place = join(this.#folder, path);
      mkdirSync(dirname(place), { recursive: true });
      writeFileSync(place, fill(text));
    }
    const exported = variables.map(([name, value]) => [name, value === '$BERTH_KEY' ? apiKey : fill(value)]);
    const work = join(this.#folder, 'work');
    mkdirSync(work, { recursive: true });
    const env = {
      PATH: process.env.PATH,
      HOME: this.#folder,
      TMPDIR: this.#folder,
      TERM: 'dumb',
      BERTH_KEY: apiKey,
      ...Object.fromEntries(exported),
      ...proxy.env,
    };
    try {
      const { output, code, endedAt } = await run(findProgram(this.#agent), args, { cwd: work, env });
      const { requests, outside, startedAt } = proxy;
      const first = requests[0]?.seconds ?? 0;
      return {
        output,
        code,
        requests,
        outside: [...outside],
        seconds: (endedAt - startedAt) / 1_000 - first,
      };
    } finally {
      proxy.stop();
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export const findProgram = (agent: Agent): string => ensureNpmProgram(agent.package, agent.program);

interface Setup {
  /** By path in the home. */
  files: [string, string][];
  variables: [string, string][];
}

/** A section's files, each announced by a line such as "In `~/.codex/config.toml`:", and its variables. */
function readSetup(name: string): Setup {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${name}\n`)) ?? '';
  const files = [...section.matchAll(/^In `~\/([^`]+)`:\n\n```\w+\n(.*?)^```$/gms)].map(
    ([, path, text]): [string, string] => [path!, text!],
  );
  const variables = [...section.matchAll(/^export (\w+)=(\S+)/gm)].map(
    ([, variable, value]): [string, string] => [variable!, value!],
  );
  if (files.length + variables.length === 0) throw new Error(`docs/coding-agents.md does not set up ${name}`);
  return { files, variables };
}

function run(
  program: string,
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<{ output: string; code: number | null; endedAt: number }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...options,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: RUN_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    child.on('error', reject);
    child.on('close', (code) => resolve({ output, code, endedAt: performance.now() }));
  });
}
