/** `make key`: creates an API key with the given limits for the running models, and prints only the key. */
import { generateApiKey } from '../api/identity.ts';
import { LOCAL_ENDPOINTS, readEndpoints } from './endpoints-file.ts';
import { readRequest } from './key-request.ts';

async function main(): Promise<void> {
  const endpoints = readEndpoints(LOCAL_ENDPOINTS);
  if (!endpoints) throw new Error('nothing is running here: start make run or make cluster first');
  const key = generateApiKey();
  const request = readRequest(process.env, key);
  if (endpoints.mode === 'cluster') {
    const { createClusterKey } = await import('./cluster-key.ts');
    await createClusterKey(endpoints, request);
  } else {
    const { createLocalKey } = await import('./local-key.ts');
    await createLocalKey(endpoints, request);
  }
  console.log(key);
}

main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
