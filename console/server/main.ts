/** The console's program. */
import { enableCompileCache } from 'node:module';
import { exitAfterFailedStart, exitOnFatalErrors } from '../../kit/fatal-error.ts';
import { readEnvironment, readVariables } from './environment.ts';
import { startConsole } from './program.ts';

exitOnFatalErrors('console');
enableCompileCache();

let stop: () => Promise<void> = async () => {};
let isStopping = false;
const onSignal = () => {
  // A second signal does not wait.
  if (isStopping) process.exit(1);
  isStopping = true;
  stop().then(
    () => process.exit(0),
    () => process.exit(1),
  );
};
process.on('SIGTERM', onSignal);
process.on('SIGINT', onSignal);

async function start(): Promise<void> {
  stop = (await startConsole(readEnvironment(readVariables()))).stop;
}

start().catch((error: unknown) => exitAfterFailedStart('console', error));
