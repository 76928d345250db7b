/** Each file of `examples/`, applied unchanged: what it asks for is served, or its status says why not. */
import { describeOutcome, type ExampleState, listExamples } from '../support/examples.ts';
import { kubectl, readObject, waitUntil } from './installation.ts';

describe('an example that is applied to a cluster', function () {
  this.timeout(240_000);
  const examples = listExamples();
  /** The workspace is the cluster's own, too. */
  const removed = examples.filter(({ objects }) => objects.every(({ kind }) => kind !== 'Workspace'));
  const remove = (files: readonly string[], ...args: string[]) =>
    kubectl('delete', ...files.flatMap((file) => ['-f', file]), '--ignore-not-found', ...args);
  before(() => kubectl('apply', ...examples.flatMap(({ file }) => ['-f', file])));
  after(() =>
    remove(
      removed.map(({ file }) => file),
      '--timeout=180s',
    ),
  );

  for (const { file, objects } of examples)
    describe(file, () => {
      // Its pods may keep others from the node, also those whose image is not there.
      after(async () => {
        if (removed.some((example) => example.file === file)) await remove([file], '--wait=false');
      });

      for (const { kind, name } of objects)
        it(`${name} is served, or its status says why not`, async () => {
          const isSimulated = name.startsWith('simulator-');
          let outcome: string | undefined;
          await waitUntil(`the outcome of ${name}`, 180, async () => {
            outcome = describeOutcome(await readObject<ExampleState>(kind, name));
            // A simulator may have to wait until the node has room beside the pods of other tests.
            return isSimulated ? outcome === 'served' : outcome !== undefined;
          });
          console.log(`        ${name}: ${outcome}`);
        });
    });
});
