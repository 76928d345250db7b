/** The pages of deployments: what they show, and the snippets to paste. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { CSRF_HEADER } from '../../console/api.ts';
import { ensurePython, usePython } from '../support/python.ts';
import { findFaults } from './support/accessibility.ts';
import { NAMESPACE, useConsole } from './support/console.ts';

const run = promisify(execFile);
const OPENAI_PYTHON = ['openai==3.22.1'];
type Options = { cwd: string; env: NodeJS.ProcessEnv };

const LANGUAGES = [
  // For videos, only the first command is run: the next two need the id in its response.
  {
    language: 'curl',
    runLines: (lines: string, options: Options) => run('sh', ['-c', lines.split('\n#')[0]!], options),
  },
  {
    language: 'Python',
    runLines: (lines: string, options: Options) => run(ensurePython(OPENAI_PYTHON), ['-c', lines], options),
  },
  {
    language: 'TypeScript',
    runLines: (lines: string, options: Options) =>
      run(process.execPath, ['--input-type=module-typescript', '-e', lines], options),
  },
] as const;

const OUTPUTS = [
  { kind: 'LLM', output: { curl: /"choices"/, Python: /\w/, TypeScript: /\w/ } },
  { kind: 'Embedding', output: { curl: /"embedding"/, Python: /^[1-9]\d*\s$/, TypeScript: /^[1-9]\d*\s$/ } },
  { kind: 'Rerank', output: { curl: /"results"/, Python: /^1\s$/, TypeScript: /^1\s$/ } },
  { kind: 'Image', output: { curl: /"url":\s*"http/, Python: /^http/, TypeScript: /^http/ } },
  { kind: 'Video', output: { curl: /"id":\s*"req_/, Python: /^$/, TypeScript: /^$/ } },
];

describe('the pages of deployments', () => {
  const use = useConsole();
  usePython(OPENAI_PYTHON);

  it('show which deployment serves, where, and why another does not', async () => {
    const { open, stack } = use();
    const page = await open('deployments');
    const { name, baseURL } = stack.find('LLM');
    const serving = page.getByRole('row', { name, exact: true });
    await serving.getByText('ready', { exact: true }).waitFor();
    expect(await serving.textContent())
      .to.include(baseURL)
      .and.to.include('1 of 1 ready');
    await serving.getByRole('link', { name }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await page.getByText('Engine simulator').waitFor();
    await page.goBack();
    const paused = await page.getByRole('row', { name: 'paused-chat' }).textContent();
    expect(paused).to.include('paused');
    await page.context().close();
  });

  it('tell what the engine is started with by the family of the model', async () => {
    const { open, url } = use();
    const page = await open('deployments');
    const name = 'parsed';
    const created = await page.request.post(`/api/namespaces/${NAMESPACE}/deployments`, {
      data: {
        manifest: {
          apiVersion: 'berth.dev/v1alpha1',
          kind: 'ModelDeployment',
          metadata: { name },
          spec: {
            kind: 'LLM',
            model: { id: 'qwen/qwen3-8b', source: { huggingFace: { repo: 'Qwen/Qwen3-8B' } } },
            engine: { preset: 'vllm' },
            // Nothing runs: the test is about the status alone.
            paused: true,
          },
        },
      },
      headers: { [CSRF_HEADER]: '1', origin: url },
    });
    expect(created.status(), await created.text()).to.equal(201);
    await page.goto(`/${NAMESPACE}/deployments/${name}`);
    const facts = 'Engine vllm · model family qwen3 · tool call parser hermes · reasoning parser qwen3';
    await page.getByText(facts).waitFor({ timeout: 60_000 });
    await page.request.delete(`/api/namespaces/${NAMESPACE}/deployments/${name}`, {
      headers: { [CSRF_HEADER]: '1', origin: url },
    });
    await page.context().close();
  });

  for (const { language, runLines } of LANGUAGES)
    it(`give lines in ${language} that work with a key, for every kind`, async function () {
      this.timeout(180_000);
      const { open, stack } = use();
      const folder = mkdtempSync(join(tmpdir(), 'berth-lines-'));
      symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
      for (const { kind, output } of OUTPUTS) {
        const { name, apiKey } = stack.find(kind);
        const page = await open(`deployments/${name}`);
        await page.getByRole('tab', { name: language }).click();
        const lines = await page.getByRole('tabpanel', { name: language }).locator('pre').textContent();
        await page.context().close();
        const env = { ...process.env, API_KEY: apiKey };
        const { stdout } = await runLines(lines!, { cwd: folder, env });
        expect(stdout, kind).to.match(output[language]);
        if (kind === 'Video' && language !== 'curl')
          expect(statSync(join(folder, 'video.mp4')).size).to.be.above(1_000);
      }
      rmSync(folder, { recursive: true });
    });

  it('show what the operator says, at an address of its own', async () => {
    const { open, stack } = use();
    const page = await open(`deployments/${stack.find('LLM').name}`);
    await page.getByRole('tab', { name: 'Conditions' }).click();
    const row = page.getByRole('row', { name: /^Available/ });
    expect(await row.textContent()).to.include('1 of 1 replicas ready');
    await page.reload();
    await row.waitFor();
    await page.getByRole('searchbox', { name: 'Filter conditions' }).fill('replicas ready');
    await page.getByRole('row', { name: /^Accepted/ }).waitFor({ state: 'detached' });
    await row.waitFor();
    await page.getByRole('button', { name: 'Last transition' }).press('Enter');
    await page.waitForURL(/condition-sort=-transition/);
    expect(await findFaults(page)).to.deep.equal([]);
    await page.context().close();
  });

  it('say so where there is no such deployment', async () => {
    const page = await use().open('deployments/nowhere');
    expect(await page.getByRole('alert').textContent()).to.include('nowhere');
    await page.context().close();
  });
});
