import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ContainerRunner } from '../../../launch/local-node/container-runner.ts';
import { pollUntil } from '../../support/poll.ts';

describe('a container of the local node', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'container-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  it('that crashes again reports the log of its last run alone', async () => {
    let runs = 0;
    const runner = new ContainerRunner({
      container: { name: 'engine' } as never,
      isTask: false,
      prepare: async () => ({
        program: { kind: 'command', command: 'engine', args: [] },
        env: {},
        target: { port: () => 0 } as never,
      }),
      processes: {
        start: ({ logPath }) => {
          appendFileSync(logPath, `é begins run ${++runs}\nends run ${runs}\n`);
          return { ended: Promise.resolve(1), stop: () => {} };
        },
      },
      logPath: join(folder, 'engine.log'),
      onChange: () => {},
      backoffMs: 1,
    });
    runner.run();
    await pollUntil(() => runner.status.restartCount >= 2);
    await runner.stop(AbortSignal.abort());
    const { message } = runner.status.lastState.terminated!;
    const [, run] = /begins run (\d+)/.exec(message!)!;
    expect(Number(run)).to.be.above(1);
    expect(message).to.equal(`é begins run ${run}\nends run ${run}`);
  });
});
