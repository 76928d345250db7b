import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import OpenAI from 'openai';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';

const PAGE = 'https://app.example.com';
const MODELS = `
apiVersion: berth.dev/v1alpha1
kind: ModelDeployment
metadata: { name: page-chat, namespace: default }
spec:
  kind: LLM
  model: { id: berth/page-chat }
  engine: { preset: simulator }
  route: { cors: { origins: ['${PAGE}'] } }
`;
/** Request headers that need no preflight (Fetch: CORS-safelisted request headers). */
const SAFELISTED = new Set(['accept', 'accept-language', 'content-language']);
/** Response headers that need no permission to be read. */
const READABLE = new Set(['content-type', 'content-length', 'cache-control', 'expires', 'last-modified']);

/** A fetch as in a browser: with a preflight where one is required, and only the headers that the page may read. */
async function fetchAsPage(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  // A browser sends its own.
  headers.delete('user-agent');
  const asked = [...headers.keys()].filter((name) => !SAFELISTED.has(name));
  const preflight = await fetch(input, {
    method: 'OPTIONS',
    headers: {
      origin: PAGE,
      'access-control-request-method': init.method ?? 'GET',
      'access-control-request-headers': asked.join(','),
    },
  });
  const listOf = (name: string, response = preflight) =>
    (response.headers.get(name) ?? '').split(',').map((each) => each.trim().toLowerCase());
  expect(preflight.ok).to.equal(true);
  expect(preflight.headers.get('access-control-allow-origin')).to.equal(PAGE);
  expect(listOf('access-control-allow-methods')).to.include((init.method ?? 'GET').toLowerCase());
  expect(listOf('access-control-allow-headers')).to.include.members(asked);
  headers.set('origin', PAGE);
  const answer = await fetch(input, { ...init, headers });
  if (answer.headers.get('access-control-allow-origin') !== PAGE) throw new TypeError('Failed to fetch');
  const readable = new Set([...READABLE, ...listOf('access-control-expose-headers', answer)]);
  const shown = [...answer.headers].filter(([name]) => readable.has(name));
  return new Response(answer.body, { status: answer.status, headers: shown });
}

describe('the OpenAI SDK in a page of another origin', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-page-'));
  let stack: LocalStack;
  before(async () => {
    writeFileSync(join(folder, 'models.yaml'), MODELS);
    stack = await startLocalStack({ MODELS: folder });
  });
  after(async () => {
    await stack?.stop();
    rmSync(folder, { recursive: true });
  });

  const connect = (apiKey = stack.find('LLM').apiKey) =>
    new OpenAI({
      baseURL: stack.find('LLM').baseURL,
      apiKey,
      fetch: fetchAsPage,
      dangerouslyAllowBrowser: true,
      maxRetries: 0,
    });
  const chat = { model: 'berth/page-chat', messages: [{ role: 'user' as const, content: 'Hello' }] };

  it('gets answers and streams', async () => {
    const answer = await connect().chat.completions.create(chat);
    expect(answer.choices[0]!.message.content).to.not.be.empty;
    let text = '';
    for await (const { choices } of await connect().chat.completions.create({ ...chat, stream: true }))
      text += choices[0]?.delta.content ?? '';
    expect(text).to.not.be.empty;
    expect((await connect().models.list()).data.map(({ id }) => id)).to.deep.equal(['berth/page-chat']);
  });

  it('reads why it was refused, and the id of the request', async () => {
    const error = await connect('sk-unknown')
      .chat.completions.create(chat)
      .then(
        () => null,
        (raised) => raised as InstanceType<typeof OpenAI.APIError>,
      );
    expect(error).to.be.instanceOf(OpenAI.AuthenticationError);
    expect([error!.status, error!.code]).to.deep.equal([401, 'invalid_api_key']);
    expect(error!.requestID).to.be.a('string');
  });
});
