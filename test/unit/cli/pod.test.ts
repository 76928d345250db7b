import { expect } from 'chai';
import { findTellingLog, type Pod } from '../../../cli/deployment/pod.ts';

const pod = (name: string, status: object, metadata = {}): Pod =>
  ({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'team', ...metadata }, status }) as Pod;
const crashed = (name: string, minute: number, more = {}) => ({
  name,
  ready: false,
  restartCount: 1,
  state: { running: {} },
  lastState: { terminated: { exitCode: 137, finishedAt: `2026-11-29T12:0${minute}:00Z` } },
  ...more,
});
const STARTING = { name: 'engine', ready: false, restartCount: 0, state: { running: {} } };

describe('the log that says why a deployment does not serve', () => {
  it('is that of the container that failed last', () => {
    const pods = [
      pod('a', { containerStatuses: [crashed('engine', 1)] }),
      pod('b', { containerStatuses: [crashed('engine', 2)] }),
    ];
    expect(findTellingLog(pods)).to.include({
      pod: 'b',
      container: 'engine',
      previous: true,
      hasFailed: true,
    });
  });

  it('is not that of a gateway that has started again, and is not ready because the engine loads', () => {
    const initContainerStatuses = [crashed('gateway', 5, { started: true })];
    const found = findTellingLog([pod('a', { initContainerStatuses, containerStatuses: [STARTING] })]);
    expect(found).to.include({ container: 'engine', hasFailed: false });
  });

  it('is that of a pod that lives, unless there are remains alone', () => {
    const evicted = pod('old', {
      phase: 'Failed',
      containerStatuses: [{ name: 'engine', ready: false, state: { terminated: { exitCode: 137 } } }],
    });
    const leaving = pod('leaving', { containerStatuses: [crashed('engine', 9)] }, { deletionTimestamp: 'x' });
    const living = pod('new', { containerStatuses: [STARTING] });
    expect(findTellingLog([evicted, leaving, living])).to.include({ pod: 'new' });
    expect(findTellingLog([evicted])).to.include({ pod: 'old', previous: false });
  });
});
