import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { chatOf } from './running-simulator.ts';

describe('the simulator as a process', () => {
  let child: ChildProcess;
  let output = '';

  const run = (env: Record<string, string>, ...args: string[]): Promise<number> => {
    output = '';
    child = spawn(process.execPath, ['simulator/main.ts', ...args], {
      env: { PATH: process.env.PATH, SIMULATOR_PORT: '0', ...env },
    });
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk: Buffer) => {
        output += chunk;
      });
    return once(child, 'close').then(([code]) => code);
  };
  const readAddress = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const found = pattern.exec(output)?.[1];
      if (found) return found;
      await once(child.stdout!, 'data');
    }
  };
  const readEngine = (): Promise<string> => readAddress(/engine of \S+ listening on (\S+)\n/);
  const post = (url: string): Promise<Response> =>
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(chatOf('Hello', { stream: true })),
    });
  afterEach(() => void child.kill('SIGKILL'));

  it('prints its help', async () => {
    expect(await run({}, '--help')).to.equal(0);
    expect(output).to.contain('SIMULATOR_TTFT_MS');
  });

  it('names a variable that it cannot use, and fails', async () => {
    expect(await run({ SIMULATOR_ITL_MS: 'soon' })).to.equal(1);
    expect(output).to.match(/^simulator: SIMULATOR_ITL_MS must be a number of milliseconds/);
  });

  it('prints the addresses that it has bound, the control port only when asked for', async () => {
    void run({ SIMULATOR_CONTROL_PORT: '0' });
    const control = await readAddress(/control port listening on (\S+)\n/);
    expect((await fetch(control)).status).to.equal(200);
    expect((await fetch(`${await readEngine()}/health`)).status).to.equal(200);
  });

  it('finishes the calls in flight on SIGTERM, and takes no more', async () => {
    const ended = run({ SIMULATOR_TTFT_MS: '100', SIMULATOR_ITL_MS: '10', SIMULATOR_TOKENS: '20' });
    const url = await readEngine();
    expect(output).not.to.contain('control port');
    const answer = await post(url);
    child.kill('SIGTERM');
    expect(await answer.text()).to.match(/data: \[DONE\]\n\n$/);
    expect(await ended).to.equal(0);
    expect(await post(url).catch(() => 'refused')).to.equal('refused');
  });

  it('ends on a SIGTERM that comes while it is being loaded', async () => {
    const hook = `import { registerHooks } from 'node:module';
      registerHooks({ load(url, context, next) {
        if (url.endsWith('/simulator/server.ts')) process.kill(process.pid, 'SIGTERM');
        return next(url, context);
      } });`;
    const code = await run({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` });
    expect(code).to.equal(0);
    expect(output).to.match(/simulator: SIGTERM, stopping\n$/);
  });

  it('dies of the fault exit', async () => {
    const ended = run({ SIMULATOR_FAULT: '{"kind":"exit"}' });
    expect(await post(await readEngine()).catch(() => 'cut')).to.equal('cut');
    expect(await ended).to.equal(1);
  });
});
