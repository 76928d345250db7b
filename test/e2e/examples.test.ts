/** Each file of `examples/`, applied unchanged to the cluster: its model is served, or its status says why not. */
import { expect } from 'chai';
import { describeOutcome, listExamples } from '../support/examples.ts';
import { postChat } from './envelope.ts';
import { findEndpoint, kubectl, readModel, waitUntil } from './installation.ts';

/** The workspace is the cluster's already, with an owner of its own. */
const APPLIED = listExamples().filter(({ file }) => !file.endsWith('/workspace.yaml'));

describe('an example that is applied to a cluster', function () {
  this.timeout(300_000);
  const files = APPLIED.flatMap(({ file }) => ['-f', file]);
  before(() => kubectl('apply', ...files));
  after(() => kubectl('delete', ...files, '--ignore-not-found', '--wait=false'));

  for (const { file, models } of APPLIED)
    for (const name of models)
      it(`${file} is served, or its status says why not`, async () => {
        let outcome: string | undefined;
        await waitUntil(`the outcome of ${name}`, 120, async () => {
          outcome = describeOutcome(await readModel(name));
          return outcome !== undefined;
        });
        console.log(`      ${name}: ${outcome}`);
        if (name.startsWith('simulator-')) expect(outcome).to.equal('served');
      });

  it('answers a chat', async () => {
    const example = findEndpoint('tiny-chat');
    const baseURL = example.baseURL.replace('tiny-chat--', 'simulator-chat--');
    const answer = await postChat({ ...example, baseURL });
    expect(answer.status).to.equal(200);
  });
});
