/** docs/values.md: every value of the chart, from values.yaml and the schema beside it. */
import { type ChartValue, listChartValues } from './chart-values.ts';
import { code, escapeText, formatTable, NOTICE } from './markdown.ts';
import { formatAllowed, formatType } from './schema-text.ts';

const COLUMNS = ['Value', 'Type', 'Default', 'Allowed', 'Description'];

export function writeValuesPage(): string {
  const values = listChartValues();
  const groups = values.filter(({ path, schema }) => !schema && !path.includes('.'));
  const single = values.filter(({ path, schema }) => schema && !path.includes('.'));
  return `${NOTICE}
# Chart values

All values of \`charts/berth\`, with the defaults of its \`values.yaml\`. Helm refuses values that are not here. How they are used in an
installation is in [Install](install.md).

${formatValues(single)}${groups.map((group) => writeGroup(group, values)).join('')}`;
}

function writeGroup({ path, description }: ChartValue, values: ChartValue[]): string {
  const own = values.filter((value) => value.path.startsWith(`${path}.`));
  return `\n## ${path}\n${description && `\n${escapeText(description)}\n`}\n${formatValues(own)}`;
}

/** A group within a group is a row if it is explained. */
function formatValues(values: ChartValue[]): string {
  const rows = values
    .filter(({ schema, description }) => schema || description)
    .map(({ path, schema, default: initial, description }) => {
      if (!description) throw new Error(`the value ${path} has no description: add one to values.yaml`);
      if (!schema) return [code(path), '', '', '', description];
      return [
        code(path),
        formatType(schema),
        code(JSON.stringify(initial)),
        formatAllowed(schema),
        description,
      ];
    });
  return formatTable(COLUMNS, rows);
}
