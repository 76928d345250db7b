/** Code examples of one chat completion. Pure. */

import { type JSONValue, writePython, writeTypeScript } from './literals.ts';
import { type Language, writeCurl, writePythonCall, writeTypeScriptCall } from './sdk-frames.ts';

/** The body of a call: parameters that are not set are absent. */
export interface ChatBody {
  model: string;
  messages: { role: string; content: string }[];
  stream?: boolean;
  [parameter: string]: JSONValue | undefined;
}

/** `base`: the deployment's URL, with /v1. */
export const writeChatSnippet = (base: string, body: ChatBody, language: Language): string =>
  WRITERS[language](base, body);

const WRITERS: Record<Language, (base: string, body: ChatBody) => string> = {
  curl: (base, body) => {
    const call = writeCurl(`${base}/chat/completions`, body);
    // Otherwise curl keeps a stream back until its buffer is full.
    return body.stream ? call.replace('curl ', 'curl -N ') : call;
  },
  Python: (base, body) => {
    const parameters = listParameters(body).map(([name, value]) => `    ${name}=${writePython(value, 1)},\n`);
    const call = `client.chat.completions.create(\n${parameters.join('')})`;
    return writePythonCall(
      base,
      body.stream
        ? `stream = ${call}
for chunk in stream:
    for choice in chunk.choices:
        print(choice.delta.content or "", end="", flush=True)`
        : `answer = ${call}
print(answer.choices[0].message.content)`,
    );
  },
  TypeScript: (base, body) => {
    const parameters = listParameters(body).map(
      ([name, value]) => `  ${name}: ${writeTypeScript(value, 1)},\n`,
    );
    const call = `await client.chat.completions.create({\n${parameters.join('')}});`;
    return writeTypeScriptCall(
      base,
      body.stream
        ? `const stream = ${call}
for await (const { choices } of stream) process.stdout.write(choices[0]?.delta.content ?? '');`
        : `const answer = ${call}
console.log(answer.choices[0].message.content);`,
    );
  },
};

const listParameters = (body: ChatBody): [string, JSONValue][] =>
  Object.entries(body).filter((parameter): parameter is [string, JSONValue] => parameter[1] !== undefined);
