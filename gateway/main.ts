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
// V8 collects what sockets have read after 4 × 2 MB instead of 128: a large video streams through in little memory.
setFlagsFromString('--scavenger-max-new-space-capacity-mb=2');

/** Only the selected role is loaded, so that a model's pod starts quickly. */
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
