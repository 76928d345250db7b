import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { z } from 'zod';
import { CONSOLE_VARIABLES } from '../../../api/console-environment.ts';
import { GATEWAY_VARIABLES } from '../../../api/gateway-environment.ts';
import { workspaceResource } from '../../../api/workspace.ts';
import { OPERATOR_VARIABLES } from '../../../operator/environment.ts';
import { listChartValues, writeValuesSchema } from '../../../tools/generate/chart-values.ts';
import {
  listVariables,
  readChartSources,
  writeEnvironmentPage,
} from '../../../tools/generate/environment-page.ts';
import { formatTable } from '../../../tools/generate/markdown.ts';
import { writeResourcesPage } from '../../../tools/generate/resources-page.ts';
import { writeValuesPage } from '../../../tools/generate/values-page.ts';

const rowOf = (page: string, name: string): string =>
  page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? `no row of ${name}`;

describe('the page of resources', () => {
  const write = (spec: z.ZodType) => writeResourcesPage([{ ...workspaceResource, spec }]);

  it('has the default, the limits and the sentence of a field, and the words of its pattern', () => {
    const page = write(
      z.object({
        size: z.int().min(1).max(9).default(3).describe('How many.'),
        name: z.string().regex(/^a/, 'must begin with a').max(5).describe('Its name.'),
      }),
    );
    expect(rowOf(page, 'spec.size')).to.contain('| integer | `3` | at least 1; at most 9 | How many. |');
    expect(rowOf(page, 'spec.name')).to.contain(
      '| string | required | must begin with a; at most 5 characters | Its name. |',
    );
  });

  it('has the fields of list items', () => {
    const item = z.object({ at: z.string().describe('When.') });
    const page = write(z.object({ steps: z.array(item).max(2).optional().describe('What to do.') }));
    expect(rowOf(page, 'spec.steps')).to.contain('| list of object |  | at most 2 items | What to do. |');
    expect(rowOf(page, 'spec.steps[].at')).to.contain('When.');
  });

  it('cannot be written while a field has no description', () =>
    expect(() => write(z.object({ size: z.int() }))).to.throw('spec.size has no description'));

  it('has the messages of rules', () =>
    expect(writeResourcesPage([workspaceResource])).to.contain(
      '- a namespace has one Workspace, named workspace',
    ));
});

describe("the page of the chart's values", () => {
  const page = writeValuesPage();

  it('has every value of values.yaml, with its default', () => {
    const values = parse(readFileSync('charts/berth/values.yaml', 'utf8'));
    for (const { path, schema, default: initial } of listChartValues()) {
      if (!schema) continue;
      const found = path.split('.').reduce((value, key) => value[key], values);
      expect(found, path).to.deep.equal(initial);
      expect(rowOf(page, path)).to.contain(`\`${JSON.stringify(initial)}\``);
    }
  });

  it('takes the sentence above a value, and what is allowed from the schema', () =>
    expect(rowOf(page, 'redis.bundled.backup.keep')).to.equal(
      '| `redis.bundled.backup.keep` | integer | `7` | at least 1 | Number of backups to keep. |',
    ));

  it('stands beside a schema that refuses values of other names', () => {
    const { properties } = JSON.parse(writeValuesSchema());
    expect(properties.redis.properties.bundled).to.include({ type: 'object', additionalProperties: false });
    expect(properties.front.properties.resources).to.deep.equal({ type: 'object' });
    expect(properties.ingress.properties.scheme).to.deep.equal({ enum: ['http', 'https'] });
  });
});

describe('the page of environment variables', () => {
  const page = writeEnvironmentPage();

  it('has each variable with its default, its limits and its sentence', () => {
    expect(rowOf(page, 'OPERATOR_REDIS_WORKSPACE_SHARE')).to.contain(
      '| `50` | a whole number from 1 to 100 |',
    );
    expect(rowOf(page, 'GATEWAY_REDIS_URL')).to.contain('| required |');
    expect(rowOf(page, 'OPERATOR_EGRESS_ALLOW')).to.contain("CIDRs that tenants' URLs may resolve to");
    expect(rowOf(page, 'SIMULATOR_KIND')).to.contain('| LLM |');
  });

  it("has every one that the chart's templates set", () => {
    const set = globSync('charts/berth/templates/**/*.yaml').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/name: ((?:OPERATOR|GATEWAY|CONSOLE)_\w+)/g)].map(
        ([, name]) => name!,
      ),
    );
    expect(set).to.include('CONSOLE_PUBLIC_URL').and.have.length.above(70);
    expect(set.filter((name) => !page.includes(`| \`${name}\` |`))).to.deep.equal([]);
  });

  it("has the chart's value behind a variable, with the same default", () => {
    const sources = readChartSources();
    expect(sources.get('OPERATOR_URL_PORT')).to.equal('ingress.port');
    expect(sources.get('GATEWAY_S3_REGION')).to.equal('storage.region');
    const values = new Map(listChartValues().map((value) => [value.path, value.default]));
    // Without groups of pod fields, all are allowed where an admission policy decides.
    const { podFields: _, ...operator } = OPERATOR_VARIABLES;
    const variables = listVariables({ operator, GATEWAY_VARIABLES, CONSOLE_VARIABLES });
    for (const { name, fallback, isRequired } of variables) {
      const initial = values.get(sources.get(name) ?? '');
      if (isRequired || fallback === undefined || initial === undefined || initial === '') continue;
      expect(initial, name).to.deep.equal(fallback);
    }
    expect([...sources.values()].filter((path) => !values.has(path))).to.deep.equal([]);
  });
});

describe('a table in Markdown', () => {
  it('has as text what could be HTML, a cell or a template, but not in code', () =>
    expect(formatTable(['A'], [['<a> | {{ b }} `<c> {{`']])).to.equal(
      '| A |\n| --- |\n| &lt;a> \\| &#123;{ b }} `<c> {{` |\n',
    ));
});
