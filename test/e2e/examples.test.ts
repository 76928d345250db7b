/** Each file of `examples/`, applied unchanged: what it asks for is served, or its status says why not. */
import { describeOutcome, type ExampleState, listExamples } from '../support/examples.ts';
import { kubectl, readObject, waitUntil } from './installation.ts';

describe('an example that is applied to a cluster', function () {
  this.timeout(240_000);
  const examples = listExamples();
  before(() => kubectl('apply', ...examples.flatMap(({ file }) => ['-f', file])));

  for (const { file, objects } of examples)
    describe(file, () => {
      // Its pods may keep others from the node, also those whose image is not there. The workspace is the cluster's own, too.
      after(async () => {
        if (objects.every(({ kind }) => kind !== 'Workspace'))
          await kubectl('delete', '-f', file, '--ignore-not-found', '--timeout=180s');
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
