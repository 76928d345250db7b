/** An engine that is started as its pod's container is, without the pod: for what `make run` does not serve. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { V1Container } from '@kubernetes/client-node';
import { translateArgs, translateEnv } from '../../launch/local-node/engine-programs.ts';
import { ENGINE_HOME } from '../../operator/engines/engine.ts';
import { MODELS_PATH } from '../../operator/resources/weights-copy.ts';
import { hasEnded, startProcess } from '../support/child-processes.ts';
import { pollUntil } from '../support/poll.ts';
import { ENGINE_PORT, listEngineProcesses } from './engine-processes.ts';

export interface ContainerEngine {
  /** Throws with what it wrote if it has ended. */
  checkAlive(): void;
  /** SIGKILL to all its processes. */
  kill(): Promise<void>;
}

export interface ContainerOptions {
  /** Loopback address. */
  address: string;
  /** The folder of its model. */
  model: string;
  /** The folder of its programs. */
  programs: string;
}

const LOG_BYTES = 4_000;

export function startContainer(
  { command = [], args = [], env = [] }: V1Container,
  { address, model, programs }: ContainerOptions,
): ContainerEngine {
  const home = mkdtempSync(join(tmpdir(), 'berth-engine-'));
  const logPath = join(home, 'engine.log');
  const paths = new Map([
    [ENGINE_HOME, home],
    [MODELS_PATH, model],
  ]);
  const translation = { paths, ip: address, port: (port: number) => port, ports: [ENGINE_PORT] };
  const [program, ...words] = [...command, ...translateArgs(args, translation)];
  const variables = Object.fromEntries(env.map(({ name, value = '' }) => [name, value]));
  const child = startProcess(join(programs, program!), [program!, ...words], {
    logPath,
    env: { ...translateEnv(variables, translation), PATH: `${programs}${delimiter}${process.env.PATH}` },
  });
  return {
    checkAlive: () => {
      if (hasEnded(child))
        throw new Error(`the engine ended:\n${readFileSync(logPath, 'utf8').slice(-LOG_BYTES)}`);
    },
    kill: async () => {
      await pollUntil(() => {
        const alive = listEngineProcesses(address);
        for (const { id } of alive) process.kill(id, 'SIGKILL');
        return alive.length === 0 && hasEnded(child);
      }, 'the end of the engine');
      rmSync(home, { recursive: true, force: true });
    },
  };
}
