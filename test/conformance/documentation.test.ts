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

describe('the documentation', () => {
  let stack: LocalStack;
  let folder: string;
  const findPython = usePython(['openai==3.22.1']);
  before(async () => {
    stack = await shareStack();
    folder = mkdtempSync(join(tmpdir(), 'berth-docs-'));
    mkdirSync(join(folder, '.berth'));
    writeFileSync(join(folder, '.berth', 'endpoints.json'), JSON.stringify(stack.endpoints));
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    const { url, token } = stack.endpoints.objects!;
    const key = `${url}/apis/berth.dev/v1alpha1/namespaces/default/apikeys/trial`;
    await fetch(key, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } });
  });

  it('gets one started: a chat, the limit of a key, and an image in the background', async () => {
    const [start, ...lines] = readBlocks('docs/get-started.md', 'sh');
    expect(start).to.equal('make run\n');
    const script = [
      'set -eo pipefail',
      // The folder of the test has no Makefile.
      'make() { command make --no-print-directory -C "$ROOT" "$@"; }',
      ...lines,
      '"$PYTHON" -c "$CODE" > chat.txt',
    ].join('\n');
    const env = {
      ...process.env,
      ROOT: process.cwd(),
      BERTH_STATE: stack.folder,
      PYTHON: findPython(),
      CODE: readBlocks('docs/get-started.md', 'python').join('\n'),
    };
    const { stdout } = await run('bash', ['-c', script], { cwd: folder, env, timeout: 60_000 });
    expect(stdout).to.include('"object":"chat.completion"');
    expect(stdout).to.include('200 200 200 429 {"error":{"message":"This API key has reached its limit ');
    expect(stdout).to.include('"object":"inference.request","status":"queued","modality":"image"');
    expect(stdout).to.include('"object":"inference.request","modality":"image","status":"succeeded"');
    expect(await describePicture(readFileSync(join(folder, 'harbor.png')))).to.equal('png 1024x1024');
    expect(readFileSync(join(folder, 'chat.txt'), 'utf8').trim()).to.not.equal('');
  });

  it('has lines for the shell that make images and videos', async () => {
    const lines = readBlocks('docs/media.md', 'sh').filter((code) => !code.startsWith('kubectl'));
    const script = ['set -eo pipefail', ...lines].join('\n');
    const { stdout } = await run('bash', ['-c', script], { cwd: folder, timeout: 60_000 });
    expect(JSON.parse(stdout).data[0].url).to.match(/^http/);
    expect(await describePicture(readFileSync(join(folder, 'harbor.png')))).to.equal('png 512x512');
    expect((await probeFilm(readFileSync(join(folder, 'ship.mp4')))).frames).to.equal(49);
  });

  it('has lines of Python that make a video', async () => {
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
