/** docs/environment.md: every environment variable of the programs, from the tables by which they are read. */
import { globSync, readFileSync } from 'node:fs';
import { CONSOLE_VARIABLES } from '../../api/console-environment.ts';
import { GATEWAY_VARIABLES } from '../../api/gateway-environment.ts';
import { isVariable, type Variable, type VariableTable } from '../../api/variables.ts';
import { WEIGHTS_VARIABLES } from '../../api/weights-cache.ts';
import { CLI_VARIABLES } from '../../cli/framework/environment.ts';
import { RUN_VARIABLES, STATE_VARIABLES } from '../../launch/environment.ts';
import { OPERATOR_VARIABLES } from '../../operator/environment.ts';
import { SETTING_VARIABLES, START_VARIABLES } from '../../simulator/environment.ts';
import { code, formatTable, NOTICE } from './markdown.ts';

const COLUMNS = ['Variable', 'Default', 'Allowed', 'Description'];

/** The chart's value that a template passes on in each variable, where it is one. */
export function readChartSources(): Map<string, string> {
  const sources = new Map<string, string>();
  for (const file of globSync('charts/berth/templates/*/deployment.yaml')) {
    let scope: string | undefined;
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      const [, opened] = /\{\{- with (.+) \}\}/.exec(line) ?? [];
      if (opened) scope = /^\.Values\.([\w.]+)$/.exec(opened)?.[1];
      const [, name, expression = ''] = /name: (\w+), value: \{\{ (.+) \}\}/.exec(line) ?? [];
      const [, whole] = /(?<!\$)\.Values\.([\w.]+)/.exec(expression) ?? [];
      const [, part] = scope === undefined ? [] : (/^\.(\w*) /.exec(expression) ?? []);
      const path = whole ?? (part === undefined ? undefined : `${scope}${part && `.${part}`}`);
      if (name && path) sources.set(name, path);
    }
  }
  return sources;
}

export const listVariables = (table: VariableTable): Variable<unknown>[] =>
  Object.values(table).flatMap((row) => (isVariable(row) ? [row] : listVariables(row)));

function formatVariables(table: VariableTable): string {
  const sources = readChartSources();
  return formatTable(
    COLUMNS,
    listVariables(table).map((variable) => {
      const source = sources.get(variable.name);
      return [
        code(variable.name),
        formatDefault(variable),
        variable.rule.replace(/^must be /, ''),
        `${variable.about}${source ? ` Chart: ${code(source)}.` : ''}`,
      ];
    }),
  );
}

function formatDefault({ fallback, isRequired }: Variable<unknown>): string {
  if (isRequired) return 'required';
  if (fallback === undefined || fallback === '') return '';
  if (typeof fallback !== 'object') return code(String(fallback));
  const text = JSON.stringify(fallback);
  return text === '[]' || text === '{}' ? '' : code(text);
}

export function writeEnvironmentPage(): string {
  const simulator = [...START_VARIABLES, ...Object.values(SETTING_VARIABLES)];
  return `${NOTICE}
# Environment variables

The chart and the operator set those of Berth's own programs: use the [chart's values](values.md) in an installation. An empty
variable counts as unset. A program does not start with one that is not allowed: it prints which, and what is allowed.

## Operator

${formatVariables(OPERATOR_VARIABLES)}
## Gateway

Sidecars and fronts are one program.

${formatVariables(GATEWAY_VARIABLES)}
## Console

${formatVariables(CONSOLE_VARIABLES)}
## Loader of weights

The program that fills a cache of weights, in pods and prefetch Jobs.

${formatVariables(WEIGHTS_VARIABLES)}
## Simulator

How the engines that it stands for behave is in [Simulator](simulator.md).

${formatTable(
  ['Variable', 'Default', 'Description'],
  simulator.map(({ name, about, fallback }) => [code(name), fallback, about]),
)}
## make run and make cluster

${formatVariables({ ...RUN_VARIABLES, ...STATE_VARIABLES })}
## berth

[Command line](cli.md) says how it finds \`make run\` or a cluster.

${formatVariables(CLI_VARIABLES)}`;
}
