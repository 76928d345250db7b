/** What all code examples of a language have around their call. Pure. */

import { quoteTypeScript } from './literals.ts';

export const LANGUAGES = ['curl', 'Python', 'TypeScript'] as const;
export type Language = (typeof LANGUAGES)[number];

export const writeCurl = (url: string, body: object): string =>
  `curl ${url} \\
  -H "Authorization: Bearer $BERTH_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`;

/** A form: files are read from the folder that curl runs in. */
export function writeCurlForm(
  url: string,
  fields: readonly (readonly [string, unknown])[],
  files: Record<string, string>,
): string {
  const parts = [
    ...fields.map(([name, value]) => `  ${chooseFlag(String(value))} ${quoteShell(`${name}=${value}`)}`),
    ...Object.entries(files).map(([name, file]) => `  -F ${quoteShell(`${name}=@${file}`)}`),
  ];
  return [`curl ${url}`, '  -H "Authorization: Bearer $BERTH_KEY"', ...parts].join(' \\\n');
}

/** With -F, curl reads files that are named after `@` or `<`, and types after `;`. */
const chooseFlag = (value: string): string => (/^[@<]|;/.test(value) ? '--form-string' : '-F');

const quoteShell = (text: string): string =>
  /^[\w@=./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

export const writePythonCall = (base: string, call: string): string => `import os
from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(base)}, api_key=os.environ["BERTH_KEY"])
${call}`;

/** `named`: what the call needs of the SDK beside its client. */
export const writeTypeScriptCall = (
  base: string,
  call: string,
  named: readonly string[] = [],
): string => `import OpenAI${named.length > 0 ? `, { ${named.join(', ')} }` : ''} from 'openai';

const client = new OpenAI({ baseURL: ${quoteTypeScript(base)}, apiKey: process.env.BERTH_KEY });
${call}`;
