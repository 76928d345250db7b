/** Each file of `examples/`, applied unchanged to `make run`: what it asks for is served, or its status says why not. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { ensureBinary } from '../../../cluster/binaries.ts';
import {
  describeOutcome,
  type ExampleKind,
  type ExampleState,
  listExamples,
} from '../../support/examples.ts';
import { type LocalStack, startLocalStack } from '../../support/local-stack.ts';
import { pollUntil } from '../../support/poll.ts';

const runFile = promisify(execFile);

describe('an example that is applied to make run', function () {
  this.timeout(180_000);
  let stack: LocalStack;
  let kubectl: string;
  let cache: string;
  before(async () => {
    kubectl = await ensureBinary('kubectl');
    cache = mkdtempSync(join(tmpdir(), 'berth-examples-'));
    stack = await startLocalStack();
    await run('apply', ...listExamples().flatMap(({ file }) => ['-f', file]));
  });
  after(async () => {
    await stack?.stop();
    rmSync(cache, { recursive: true, force: true });
  });

  const run = async (...args: string[]): Promise<string> => {
    const own = ['--kubeconfig', join(stack.folder, 'kubeconfig'), '--cache-dir', cache];
    return (await runFile(kubectl, [...own, ...args], { timeout: 60_000 })).stdout;
  };
  const read = async (kind: ExampleKind, name: string): Promise<ExampleState> =>
    JSON.parse(await run('get', kind, name, '-o', 'json'));

  for (const { file, objects } of listExamples())
    for (const { kind, name } of objects)
      it(`${file} is served, or its status says why not`, async () => {
        let outcome: string | undefined;
        const isDecided = async () => {
          outcome = describeOutcome(await read(kind, name));
          return outcome !== undefined;
        };
        await pollUntil(isDecided, `the outcome of ${name}`, 90_000);
        console.log(`      ${name}: ${outcome}`);
        if (name.startsWith('simulator-')) expect(outcome).to.equal('served');
      });
});
