import type { V1Job } from '@kubernetes/client-node';
import { expect } from 'chai';
import { ANNOTATIONS } from '../../../../api/names.ts';
import type { KubeObject, Wire } from '../../../../kube/object.ts';
import { readDownload } from '../../../../operator/model/adapter-download.ts';

const describeJob = (source: string, status: object = {}, uid = 'uid-sql') =>
  ({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: 'sql-prefetch',
      namespace: 'team-a',
      annotations: { [ANNOTATIONS.prefetched]: source },
      ownerReferences: [
        { apiVersion: 'berth.dev/v1alpha1', kind: 'ModelDeployment', name: 'sql', uid, controller: true },
      ],
    },
    status,
  }) as unknown as Wire<V1Job>;
const pod = (state: object) => ({ status: { containerStatuses: [state] } }) as unknown as KubeObject;

describe('the download of an adapter', () => {
  /** Undefined: the pods are not asked for. */
  const read = (found: Wire<V1Job> | undefined, pods?: KubeObject[]) => {
    const list = async () => {
      if (!pods) throw new Error('pods were listed');
      return { items: pods, metadata: {} };
    };
    const job = describeJob('one') as unknown as KubeObject;
    return readDownload({ list } as never, found, job, new AbortController().signal);
  };

  it('has ended once its Job has succeeded', async () => {
    expect(await read(describeJob('one', { succeeded: 1 }))).to.equal('Done');
  });

  it('goes on while its Job works, or that of an earlier source is still there, and nothing is asked for', async () => {
    expect(await read(describeJob('one', { active: 1, ready: 1 }))).to.deep.equal({ job: 'sql-prefetch' });
    expect(await read(describeJob('one'))).to.deep.equal({ job: 'sql-prefetch' });
    expect(await read(describeJob('earlier', { succeeded: 1 }))).to.deep.equal({ job: 'sql-prefetch' });
  });

  it('says why it failed last, in the words of the loader', async () => {
    const waits = describeJob('one', { active: 1, ready: 0 });
    const failed = pod({
      lastState: { terminated: { exitCode: 1, message: 'Repository not found\n' } },
      state: {},
    });
    expect(await read(waits, [failed])).to.deep.include({ failure: 'Repository not found' });
    const killed = pod({ state: { terminated: { exitCode: 137 } } });
    expect(await read(waits, [killed])).to.deep.include({ failure: 'exit code 137' });
    expect(await read(waits, [])).to.deep.equal({ job: 'sql-prefetch' });
  });

  it('says why its container cannot begin', async () => {
    const waits = describeJob('one', { active: 1, ready: 0 });
    const message = 'failed to create subPath directory for volumeMount "weights"';
    const stuck = pod({ state: { waiting: { reason: 'CreateContainerConfigError', message } } });
    expect(await read(waits, [stuck])).to.deep.include({ failure: message });
    const begins = pod({ state: { waiting: { reason: 'ContainerCreating' } } });
    expect(await read(waits, [begins])).to.deep.equal({ job: 'sql-prefetch' });
  });

  it('is not that of another owner, nor of one that was refused or deleted', async () => {
    expect(await read(undefined)).to.equal('Missing');
    expect(await read(describeJob('one', { succeeded: 1 }, 'other'))).to.equal('Missing');
  });
});
