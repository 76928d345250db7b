/** The console's program. */
import { enableCompileCache } from 'node:module';
import { runProgram } from '../../kit/program.ts';
import { readEnvironment, readVariables } from './environment.ts';
import { startConsole } from './program.ts';

enableCompileCache();
runProgram('console', async () => startConsole(readEnvironment(readVariables())));
