/** One `make run` with the example models for all files of a process that leave it as it was. */
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';

let running: Promise<LocalStack> | undefined;

export function shareStack(): Promise<LocalStack> {
  running ??= startLocalStack();
  return running;
}

// Belongs to the root suite: runs when every file is done.
after(async () => {
  const stack = await running?.catch(() => undefined);
  await stack?.stop();
});
