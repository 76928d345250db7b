/** The form of a new deployment. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { parse } from 'yaml';
import { PRESETS_BY_KIND } from '../../api/engine-presets.ts';
import { ENGINE_TRAITS } from '../../api/engine-traits.ts';
import { useConsole } from './support/console.ts';

describe('the form of a new deployment', function () {
  this.timeout(120_000);
  const use = useConsole();
  let page: Page;

  const choose = async (label: string, option: string) => {
    await page.getByRole('combobox', { name: label, exact: true }).click();
    await page.getByRole('option', { name: option, exact: true }).click();
  };
  const readManifest = async () => parse(await page.getByLabel('Manifest').inputValue());

  beforeEach(async () => {
    page = await use().open('deployments');
    page.setDefaultTimeout(20_000);
    await page.getByRole('link', { name: 'New deployment' }).click();
    await page.getByRole('heading', { name: 'New deployment' }).waitFor();
  });
  afterEach(() => page.context().close());

  it('warns of what will not fit before it is applied', async () => {
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('too-large');
    await page.getByLabel('Hugging Face repository').fill('acme/llama-70b-instruct');
    await page.getByLabel('Memory per GPU').fill('24');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText(/weights take about 130 GiB, more than 1 x 24 GiB/).waitFor();
    await page.getByRole('button', { name: 'Deploy' }).waitFor();
    await page.getByLabel('GPUs per replica').fill('8');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('The API server accepted it without warnings.').waitFor();
  });

  it('writes a manifest that is valid for every engine of every kind', async () => {
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('any');
    await page.getByRole('textbox', { name: 'Model', exact: true }).fill('acme/model');
    for (const [kind, presets] of Object.entries(PRESETS_BY_KIND)) {
      await choose('Kind', kind);
      for (const preset of presets) {
        await choose('Engine', ENGINE_TRAITS[preset].label);
        if (preset === 'custom')
          await page.getByRole('textbox', { name: 'Image', exact: true }).fill('registry.example/engine:1');
        expect((await readManifest()).spec.engine.preset).to.equal(preset);
        await page.getByRole('button', { name: 'Check' }).click();
        await page.getByText(/^Valid/).waitFor();
      }
    }
  });
});
