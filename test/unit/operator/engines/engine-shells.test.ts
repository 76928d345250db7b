import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { pollUntil } from '../../../support/poll.ts';
import { build } from '../resources/fixtures.ts';

/** The shell scripts that start engines, with small programs instead of the engines. */
describe('the shell that starts', () => {
  let folder: string;
  let shell: ChildProcess | null;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-shell-'));
    shell = null;
  });
  afterEach(() => {
    shell?.kill('SIGKILL');
    for (const name of ['engine', 'worker']) {
      try {
        process.kill(readPid(name), 'SIGKILL');
      } catch {}
    }
    rmSync(folder, { recursive: true });
  });

  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  };
  const readPid = (name: string): number => Number(readFileSync(join(folder, name), 'utf8'));
  const hasFile = (name: string): boolean => {
    try {
      return readFileSync(join(folder, name), 'utf8').endsWith('\n');
    } catch {
      return false;
    }
  };
  const run = (command: string[], args: string[], env: Record<string, string> = {}): ChildProcess => {
    const [program, ...own] = command;
    shell = spawn(program!, [...own, ...args], {
      env: { ...process.env, PATH: `${folder}:${process.env.PATH}`, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return shell;
  };

  describe('SGLang Diffusion', () => {
    /** Like the real engine, it never waits for its worker. */
    const start = async () => {
      symlinkSync('/bin/sleep', join(folder, 'sgl_diffusion::scheduler_0'));
      write('sleep', `#!/bin/sh\n[ "$1" = 5 ] && echo >> ${folder}/looks\nexec /bin/sleep 0.02\n`);
      write(
        'sglang',
        `#!/bin/bash\necho $$ > ${folder}/engine\n"${folder}/sgl_diffusion::scheduler_0" 1000 &\n` +
          `echo $! > ${folder}/worker\nexec /bin/sleep 1000\n`,
      );
      const { engine } = build({ kind: 'Video', engine: { preset: 'sglang-diffusion' } });
      const child = run(engine.command!, engine.args!);
      await pollUntil(() => hasFile('worker'), 'the worker');
      return child;
    };

    it('ends it when one of its workers has died, for it would never say so', async function () {
      if (process.platform !== 'linux') this.skip();
      const child = await start();
      let said = '';
      child.stderr!.on('data', (chunk) => {
        said += chunk;
      });
      await pollUntil(
        () => hasFile('looks') && readFileSync(join(folder, 'looks')).length > 3,
        'a few looks',
      );
      expect(child.exitCode).to.equal(null);
      process.kill(readPid('worker'), 'SIGKILL');
      const [code] = await once(child, 'exit');
      expect(code).to.equal(128 + 15);
      await pollUntil(() => said.includes('A worker of the engine has died'), 'its words');
    });

    /** An engine that runs this script and exits. */
    const say = async (script: string) => {
      write('tee', `#!/bin/bash\n/bin/sleep 0.1\n/usr/bin/tee "$@"\necho > ${folder}/log-done\n`);
      // Shortens the waits of the supervisor, but not the second that the log has to be read.
      write('sleep', '#!/bin/sh\n[ "$1" = 1 ] && exec /bin/sleep 1\nexec /bin/sleep 0.02\n');
      write('sglang', `#!/bin/bash\necho $$ > ${folder}/engine\n${script}\n`);
      const { engine } = build({ kind: 'Image', engine: { preset: 'sglang-diffusion' } });
      const child = run(engine.command!, engine.args!, { BERTH_MEMORY_MARK: join(folder, 'mark') });
      let [said, complained] = ['', ''];
      child.stdout!.on('data', (chunk) => {
        said += chunk;
      });
      child.stderr!.on('data', (chunk) => {
        complained += chunk;
      });
      const closed = once(child, 'close');
      await once(child, 'exit');
      const isLogDone = hasFile('log-done');
      const [code] = await closed;
      return { code, said, complained, isLogDone };
    };

    it('notes that it ran out of memory, and nothing of what it said', async () => {
      const words = 'a prompt\nOOM detected. Possible solutions:\n  - fewer pixels';
      const ended = await say(`echo "${words}"; echo broken >&2; exit 3`);
      expect(ended).to.deep.include({ code: 3, said: `${words}\n`, complained: 'broken\n' });
      await pollUntil(() => hasFile('mark'), 'the note');
      expect(readFileSync(join(folder, 'mark'), 'utf8')).to.equal('\n');
    });

    it('loses no word of an engine that ends, and notes nothing of another failure', async () => {
      const { code, said, isLogDone } = await say('for n in {1..20000}; do echo "line $n"; done; exit 1');
      expect(code).to.equal(1);
      // In a container, all processes end with the shell.
      expect(isLogDone).to.equal(true);
      expect(said.endsWith('line 20000\n')).to.equal(true);
      expect(said.split('\n')).to.have.lengthOf(20_001);
      expect(hasFile('mark')).to.equal(false);
    });

    it('ends with the engine although what it started holds its log', async () => {
      const startedAt = performance.now();
      write('sglang', `#!/bin/bash\n/bin/sleep 1000 & echo $! > ${folder}/worker\nexit 4\n`);
      const { engine } = build({ kind: 'Image', engine: { preset: 'sglang-diffusion' } });
      const [code] = await once(run(engine.command!, engine.args!), 'exit');
      expect(code).to.equal(4);
      expect(performance.now() - startedAt).to.be.lessThan(60_000);
    });

    it('passes SIGTERM on, and ends as the engine does', async () => {
      const child = await start();
      let said = '';
      child.stderr!.on('data', (chunk) => {
        said += chunk;
      });
      child.kill('SIGTERM');
      const [code] = await once(child, 'exit');
      expect(code).to.equal(128 + 15);
      expect(said).to.equal('');
      expect(() => process.kill(readPid('engine'), 0)).to.throw(/ESRCH/);
    });
  });

  describe('vLLM-Omni with a pinned revision', () => {
    const { engine } = build({
      kind: 'Image',
      engine: { preset: 'vllm-omni' },
      model: { id: 'm', source: { huggingFace: { repo: 'org/model', revision: 'abc123' } } },
    });
    const start = async () => {
      write('vllm', `#!/bin/sh\nprintf '%s\\n' "$@" > ${folder}/args\n`);
      const [code] = await once(run(engine.command!, engine.args!), 'exit');
      return code;
    };

    it('downloads that revision, and serves its folder', async () => {
      write('python3', `#!/bin/sh\n[ "$3 $4" = "org/model abc123" ] && echo /cache/abc123\n`);
      expect(await start()).to.equal(0);
      const args = readFileSync(join(folder, 'args'), 'utf8').trim().split('\n');
      expect(args.slice(0, 3)).to.deep.equal(['serve', '/cache/abc123', '--omni']);
      expect(args).to.include('--served-model-name=m').and.not.to.include('org/model');
      expect(args.join()).not.to.include('--revision');
    });

    it('starts no engine where that fails', async () => {
      write('python3', '#!/bin/sh\nexit 3\n');
      expect(await start()).to.equal(3);
      expect(hasFile('args')).to.equal(false);
    });
  });
});
