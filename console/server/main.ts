/** The console's program. */
import { enableCompileCache } from 'node:module';
import { exitFatally, exitOnFatalErrors } from '../../kit/fatal-error.ts';
import { EnvironmentError, readEnvironment, readVariables } from './environment.ts';
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

start().catch((error: unknown) => {
  const isPlain = error instanceof EnvironmentError || (error instanceof Error && 'cause' in error);
  if (!isPlain) exitFatally('console', error);
  console.error(error.message);
  process.exit(1);
});
