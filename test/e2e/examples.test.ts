/** Each file of `examples/`, applied unchanged: what it asks for is served, or its status says why not. */
import { describeOutcome, type ExampleState, listExamples } from '../support/examples.ts';
import { kubectl, readObject, waitUntil } from './installation.ts';

describe('an example that is applied to a cluster', function () {
  this.timeout(240_000);
  const examples = listExamples();
  const files = examples.flatMap(({ file }) => ['-f', file]);
  before(() => kubectl('apply', ...files));
  after(async () => {
    // The workspace is the cluster's own, too.
    const own = examples.filter(({ objects }) => objects.every(({ kind }) => kind !== 'Workspace'));
    const list = own.flatMap(({ file }) => ['-f', file]);
    await kubectl('delete', ...list, '--ignore-not-found', '--timeout=180s');
  });

  for (const { file, objects } of examples)
    for (const { kind, name } of objects)
      it(`${file} is served, or its status says why not`, async () => {
        const isSimulated = name.startsWith('simulator-');
        let outcome: string | undefined;
        await waitUntil(`the outcome of ${name}`, 180, async () => {
          outcome = describeOutcome(kind, await readObject<ExampleState>(kind, name));
          // A simulator may have to wait until the node has room beside the pods of other tests.
          return isSimulated ? outcome === 'served' : outcome !== undefined;
        });
        console.log(`        ${name}: ${outcome}`);
      });
});
