/** The pages of deployments: what they tell, and the lines to paste. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { useConsole } from './support/console.ts';

const run = promisify(execFile);

describe('the pages of deployments', () => {
  const use = useConsole();

  it('tell which deployment serves, where, and why another does not', async () => {
    const { open, stack } = use();
    const page = await open('deployments');
    const { name, baseURL } = stack.find('LLM');
    const serving = page.getByRole('article', { name });
    await serving.getByText('ready', { exact: true }).waitFor();
    expect(await serving.textContent())
      .to.include(baseURL)
      .and.to.include('1 of 1 replica ready');
    const paused = await page.getByRole('article', { name: 'paused-chat' }).textContent();
    expect(paused).to.include('spec.paused is true');
    await page.context().close();
  });

  it('give lines for curl that work with a key', async () => {
    const { open, stack } = use();
    for (const kind of ['LLM', 'Embedding', 'Image']) {
      const { name, apiKey } = stack.find(kind);
      const page = await open(`deployments/${name}`);
      const lines = await page.getByRole('tabpanel', { name: 'curl' }).locator('pre').textContent();
      const { stdout } = await run('sh', ['-c', lines!], { env: { ...process.env, API_KEY: apiKey } });
      expect(JSON.parse(stdout), kind).to.have.any.keys('choices', 'data');
      await page.context().close();
    }
  });

  it('show what the operator says, at an address of its own', async () => {
    const { open, stack } = use();
    const page = await open(`deployments/${stack.find('LLM').name}`);
    await page.getByRole('tab', { name: 'Conditions' }).click();
    const row = page.getByRole('row', { name: /^Available/ });
    expect(await row.textContent()).to.include('1 of 1 replicas ready');
    await page.reload();
    await row.waitFor();
    await page.context().close();
  });

  it('say so where there is no such deployment', async () => {
    const page = await use().open('deployments/nowhere');
    expect(await page.getByRole('alert').textContent()).to.include('nowhere');
    await page.context().close();
  });
});
