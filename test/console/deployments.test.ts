/** The pages of deployments: what they show, and the snippets to paste. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
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
/** After what each file writes. */
const END = '\x1e\n';

/** How the files of a language are run: by one process, since its start and the SDK take longer than the requests. */
const LANGUAGES = [
  {
    language: 'curl',
    suffix: '.sh',
    describeRun: () => ['sh', '-c', `for file; do sh "$file" || exit 1; printf '\\036\\n'; done`, 'sh'],
  },
  {
    language: 'Python',
    suffix: '.py',
    describeRun: () => [
      ensurePython(OPENAI_PYTHON),
      '-c',
      'import runpy, sys\nfor file in sys.argv[1:]: runpy.run_path(file), print("\\x1e")',
    ],
  },
  {
    language: 'TypeScript',
    suffix: '.mts',
    describeRun: () => [
      process.execPath,
      '--input-type=module',
      '-e',
      'for (const file of process.argv.slice(1)) { await import(file); console.log("\\x1e"); }',
    ],
  },
] as const;
type Language = (typeof LANGUAGES)[number]['language'];

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

  describe('give lines', function () {
    this.timeout(180_000);
    const lines: { kind: string; read: Record<Language, string> }[] = [];
    let apiKey: string;
    before(async () => {
      const { open, stack } = use();
      apiKey = stack.find('LLM').apiKey;
      for (const { kind } of OUTPUTS) {
        const page = await open(`deployments/${stack.find(kind).name}`);
        const read = {} as Record<Language, string>;
        for (const { language } of LANGUAGES) {
          await page.getByRole('tab', { name: language }).click();
          const shown = page.getByRole('tabpanel', { name: language }).locator('pre');
          read[language] = (await shown.textContent())!;
        }
        // The next two commands for a video need the id in the response to the first.
        read.curl = read.curl.split('\n#')[0]!;
        lines.push({ kind, read });
        await page.context().close();
      }
    });

    for (const { language, suffix, describeRun } of LANGUAGES)
      it(`in ${language} that work with a key, for every kind`, async () => {
        const folder = mkdtempSync(join(tmpdir(), 'berth-lines-'));
        symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
        const files = lines.map(({ kind, read }) => {
          const file = join(folder, kind + suffix);
          writeFileSync(file, read[language]);
          return file;
        });
        const [program, ...args] = describeRun();
        const env = { ...process.env, BERTH_KEY: apiKey };
        const { stdout } = await run(program!, [...args, ...files], { cwd: folder, env });
        const written = stdout.split(END);
        for (const [index, { kind, output }] of OUTPUTS.entries())
          expect(written[index], kind).to.match(output[language]);
        if (language !== 'curl') expect(statSync(join(folder, 'video.mp4')).size).to.be.above(1_000);
        rmSync(folder, { recursive: true });
      });
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
