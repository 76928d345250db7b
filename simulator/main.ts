/** `node simulator/main.ts`: a GPU-free engine; everything is set by environment variables. */
import type { Simulator } from './server.ts';

const GRACE_MS = 10_000;

async function main(): Promise<void> {
  let simulator: Simulator | undefined;
  let isStopping = false;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    // A second signal does not wait for the calls in flight.
    if (isStopping) process.exit(1);
    isStopping = true;
    console.log(`simulator: ${signal}, stopping`);
    await simulator?.stop(GRACE_MS);
    process.exit(0);
  };
  // Before the rest is loaded: the first process of a container would miss the signal, and be waited for all of its grace.
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);

  const { HELP, readEnvironment } = await import('./environment.ts');
  if (process.argv.includes('--help') || process.argv.includes('-h')) {
    console.log(HELP);
    return;
  }
  const { startSimulator } = await import('./server.ts');
  const environment = readEnvironment();
  simulator = await startSimulator({ ...environment, exit: crash });
  console.log(`simulator: ${environment.kind} engine of ${environment.model} listening on ${simulator.url}`);
  if (simulator.controlURL)
    console.log(`simulator: control port listening on ${simulator.controlURL}/control`);
}

function crash(): void {
  console.error('simulator: the fault "exit" ends the process');
  process.exit(1);
}

main().catch(async (error: unknown) => {
  const { EnvironmentError } = await import('./environment.ts');
  console.error(`simulator: ${error instanceof EnvironmentError ? error.message : error}`);
  process.exit(1);
});
