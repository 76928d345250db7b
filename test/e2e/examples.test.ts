/** Each file of `examples/`, applied unchanged: what it asks for is served, or its status says why not. */
import { describeOutcome, type Example, type ExampleState, listExamples } from '../support/examples.ts';
import { kubectl, readObject, waitUntil } from './installation.ts';

describe('an example that is applied to a cluster', function () {
  this.timeout(240_000);
  const examples = listExamples();
  /** The workspace is the cluster's own, too. */
  const isRemoved = ({ objects }: Example) => objects.every(({ kind }) => kind !== 'Workspace');
  const remove = (removed: readonly Example[], option: string) =>
    kubectl('delete', ...removed.flatMap(({ file }) => ['-f', file]), '--ignore-not-found', option);
  before(() => kubectl('apply', ...examples.flatMap(({ file }) => ['-f', file])));
  after(() => remove(examples.filter(isRemoved), '--timeout=180s'));

  for (const example of examples)
    describe(example.file, () => {
      // Its pods may keep others from the node, also those whose image is not there.
      after(async () => {
        if (isRemoved(example)) await remove([example], '--wait=false');
      });

      for (const { kind, name } of example.objects)
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
