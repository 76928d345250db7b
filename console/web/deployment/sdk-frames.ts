/** What all code examples of a language have around their call. Pure. */
import { quoteTypeScript } from './literals.ts';

export const LANGUAGES = ['curl', 'Python', 'TypeScript'] as const;
export type Language = (typeof LANGUAGES)[number];

export const writeCurl = (url: string, body: object): string =>
  `curl ${url} \\
  -H "Authorization: Bearer $API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`;

export const writePythonCall = (base: string, call: string): string => `import os
from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(base)}, api_key=os.environ["API_KEY"])
${call}`;

export const writeTypeScriptCall = (base: string, call: string): string => `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: ${quoteTypeScript(base)}, apiKey: process.env.API_KEY });
${call}`;
