import { expect } from 'chai';
import { ANNOTATIONS } from '../../../../api/names.ts';
import type { KubeObject } from '../../../../kube/object.ts';
import { readDownload } from '../../../../operator/model/adapter-download.ts';

const describeJob = (source: string, status: object = {}) =>
  ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: 'sql-prefetch',
      namespace: 'team-a',
      annotations: { [ANNOTATIONS.prefetched]: source },
    },
    status,
  }) as unknown as KubeObject;
const pod = (state: object) => ({ status: { containerStatuses: [state] } }) as unknown as KubeObject;

describe('the download of an adapter', () => {
  const read = (found: KubeObject | undefined, pods: KubeObject[] = []) => {
    const client = { find: async () => found, list: async () => ({ items: pods, metadata: {} }) };
    return readDownload(client as never, describeJob('one'), new AbortController().signal);
  };

  it('has ended once its Job has succeeded', async () => {
    expect(await read(describeJob('one', { succeeded: 1 }))).to.equal(undefined);
  });

  it('goes on while its Job runs, or that of an earlier source is still there', async () => {
    expect(await read(describeJob('one'))).to.deep.equal({ job: 'sql-prefetch' });
    expect(await read(describeJob('earlier', { succeeded: 1 }))).to.deep.equal({ job: 'sql-prefetch' });
  });

  it('says why it failed last, in the words of the loader', async () => {
    const failed = pod({ lastState: { terminated: { exitCode: 1, message: 'Repository not found\n' } }, state: {} });
    expect(await read(describeJob('one'), [failed])).to.deep.include({ failure: 'Repository not found' });
    const killed = pod({ state: { terminated: { exitCode: 137 } } });
    expect(await read(describeJob('one'), [killed])).to.deep.include({ failure: 'exit code 137' });
  });

  it('has a Job that was refused or deleted created again', async () => {
    expect(await read(undefined)).to.deep.include({ isMissing: true });
  });
});
