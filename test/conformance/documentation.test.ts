import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { LocalStack } from '../support/local-stack.ts';
import { describePicture, probeFilm } from '../support/media-files.ts';
import { usePython } from '../support/python.ts';
import { shareStack } from './shared-stack.ts';

const run = promisify(execFile);

/** The code of a page, by language. */
const readBlocks = (page: string, language: string): string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, name]) => name === language)
    .map(([, , code]) => code!);

describe('the documentation of images and videos', () => {
  let stack: LocalStack;
  let folder: string;
  const findPython = usePython(['openai==3.22.1']);
  before(async () => {
    stack = await shareStack();
    folder = mkdtempSync(join(tmpdir(), 'berth-docs-'));
    mkdirSync(join(folder, '.berth'));
    writeFileSync(join(folder, '.berth', 'endpoints.json'), JSON.stringify(stack.endpoints));
  });
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('begins with lines in the README that are answered', async () => {
    const [code] = readBlocks('README.md', 'sh').filter((code) => code.includes('$IMAGE'));
    const script = ['set -e', code!.replaceAll('curl ', 'echo; curl -sSf ')].join('\n');
    const { stdout } = await run('bash', ['-c', script], { cwd: folder });
    const [generated, submitted, list] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(generated.data[0].url).to.match(/^http/);
    expect(submitted).to.include({ object: 'video', status: 'queued' });
    expect(list.data[0].id).to.equal(submitted.id);
  });

  it('has lines for the shell that make what they say', async () => {
    const lines = readBlocks('docs/media.md', 'sh').filter((code) => !code.startsWith('kubectl'));
    const script = ['set -eo pipefail', ...lines].join('\n');
    const { stdout } = await run('bash', ['-c', script], { cwd: folder, timeout: 60_000 });
    expect(JSON.parse(stdout).data[0].url).to.match(/^http/);
    expect(await describePicture(readFileSync(join(folder, 'harbor.png')))).to.equal('png 512x512');
    expect((await probeFilm(readFileSync(join(folder, 'ship.mp4')))).frames).to.equal(49);
  });

  it('has lines of Python that make what they say', async () => {
    const { baseURL, apiKey } = stack.endpoints.deployments.find(({ name }) => name === 'free-video')!;
    const program = [
      'import openai',
      `client = openai.OpenAI(base_url=${JSON.stringify(baseURL)}, api_key=${JSON.stringify(apiKey)})`,
      ...readBlocks('docs/media.md', 'python'),
    ].join('\n');
    rmSync(join(folder, 'ship.mp4'));
    await run(findPython(), ['-c', program], { cwd: folder, timeout: 60_000 });
    expect((await probeFilm(readFileSync(join(folder, 'ship.mp4')))).size).to.equal('832x480');
  });
});
