/** The gateway's program: starts the role that the environment names. */
import { enableCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { type RunningProgram, runProgram } from '../kit/program.ts';
import {
  readFrontEnvironment,
  readRole,
  readSidecarEnvironment,
  readVariables,
} from './environment/environment.ts';

enableCompileCache();
// V8 collects what sockets have read after so many MB × 4, not after its 128: a large video passes in little memory.
setFlagsFromString('--scavenger-max-new-space-capacity-mb=2');

/** Each role is loaded only when it is the one, so that a model's pod starts soon. */
async function startRole(): Promise<RunningProgram> {
  const env = readVariables();
  switch (readRole(env)) {
    case 'sidecar': {
      const { startSidecar } = await import('./sidecar/sidecar.ts');
      return startSidecar(readSidecarEnvironment(env));
    }
    case 'front': {
      const { startFront } = await import('./front/front.ts');
      return startFront(readFrontEnvironment(env));
    }
  }
}

runProgram('gateway', startRole);
