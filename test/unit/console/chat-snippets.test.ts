import { expect } from 'chai';
import { writeChatSnippet } from '../../../console/web/deployment/chat-snippets.ts';
import { writePython, writeTypeScript } from '../../../console/web/deployment/literals.ts';

const BASE = 'https://chat.example.com/v1';
const CALL = {
  model: 'acme/chat',
  messages: [
    { role: 'system', content: 'Say "no".' },
    { role: 'user', content: "It's\nlate" },
  ],
  temperature: 0.5,
  stop: ['\n'],
  seed: undefined,
  stream: true,
};

describe('code examples of a chat', () => {
  it('have the parameters that are set in Python, and print a stream as it comes', () => {
    expect(writeChatSnippet(BASE, CALL, 'Python')).to.equal(`import os
from openai import OpenAI

client = OpenAI(base_url="https://chat.example.com/v1", api_key=os.environ["BERTH_KEY"])
stream = client.chat.completions.create(
    model="acme/chat",
    messages=[
        {"role": "system", "content": "Say \\"no\\"."},
        {"role": "user", "content": "It's\\nlate"},
    ],
    temperature=0.5,
    stop=["\\n"],
    stream=True,
)
for chunk in stream:
    for choice in chunk.choices:
        print(choice.delta.content or "", end="", flush=True)`);
  });

  it('are the same call in TypeScript', () => {
    expect(writeChatSnippet(BASE, CALL, 'TypeScript')).to.equal(`import OpenAI from 'openai';

const client = new OpenAI({ baseURL: 'https://chat.example.com/v1', apiKey: process.env.BERTH_KEY });
const stream = await client.chat.completions.create({
  model: 'acme/chat',
  messages: [
    { role: 'system', content: 'Say "no".' },
    { role: 'user', content: 'It\\'s\\nlate' },
  ],
  temperature: 0.5,
  stop: ['\\n'],
  stream: true,
});
for await (const { choices } of stream) process.stdout.write(choices[0]?.delta.content ?? '');`);
  });

  it('quote for the shell in curl, which shows a stream at once', () => {
    const lines = writeChatSnippet(BASE, CALL, 'curl');
    expect(lines).to.match(/^curl -N https:\/\/chat\.example\.com\/v1\/chat\/completions /);
    const [, quoted] = /-d '(.*)'$/s.exec(lines)!;
    expect(JSON.parse(quoted!.replaceAll("'\\''", "'"))).to.deep.equal(JSON.parse(JSON.stringify(CALL)));
  });
});

describe('a value in an example', () => {
  it('is written in the words of each language', () => {
    const value = { ok: true, none: null, 'a-b': [], text: 'C:\\"x"' };
    expect(writePython(value)).to.equal('{"ok": True, "none": None, "a-b": [], "text": "C:\\\\\\"x\\""}');
    expect(writeTypeScript(value)).to.equal(`{ ok: true, none: null, 'a-b': [], text: 'C:\\\\"x"' }`);
  });

  it('gets a line for each entry where one line would be long', () => {
    expect(writeTypeScript(['a'.repeat(50), 'b'.repeat(50)], 1)).to.equal(
      `[\n    '${'a'.repeat(50)}',\n    '${'b'.repeat(50)}',\n  ]`,
    );
  });
});
