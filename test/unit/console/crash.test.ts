import { expect } from 'chai';
import { findCrashedContainer, findCrashedRun } from '../../../console/web/deployment/crash.ts';

describe('the message of a crash leads to a log', () => {
  const messages: [string, string | undefined][] = [
    ['engine exited with code 1, 3 restarts: ValueError: no', 'engine'],
    ['init container weights exited with code 2: access denied', 'weights'],
    ['gateway exited with code 9', 'gateway'],
    ['engine image vllm:1 cannot be pulled', undefined],
    ['', undefined],
  ];
  for (const [message, container] of messages)
    it(`${message || 'nothing'}: ${container ?? 'to none'}`, () => {
      expect(findCrashedContainer(message)).to.equal(container);
    });
});

describe('the log of a crash is that of', () => {
  const exit = { reason: 'Error', exitCode: 1, at: null };
  const old = { name: 'old', state: 'ready', restarts: 0, lastExit: null } as const;
  const recovered = { name: 'recovered', state: 'ready', restarts: 2, lastExit: exit } as const;
  const again = { name: 'again', state: 'starting', restarts: 1, lastExit: exit } as const;
  const failing = { name: 'failing', state: 'failing', restarts: 1, lastExit: exit } as const;
  const runs: [string, Parameters<typeof findCrashedRun>[0], string | undefined, boolean?][] = [
    ['the replica that fails now, not of an older one that serves', [old, again, failing], 'failing', false],
    ['the previous run of a replica that runs again', [old, recovered, again], 'again', true],
    ['the previous run of one that has recovered', [old, recovered], 'recovered', true],
    ['none if none has crashed', [old], undefined],
  ];
  for (const [name, replicas, replica, isPrevious] of runs)
    it(name, () => {
      const found = findCrashedRun(replicas);
      expect([found?.replica.name, found?.isPrevious]).to.deep.equal([replica, isPrevious]);
    });
});
