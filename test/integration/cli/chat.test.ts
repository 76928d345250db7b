/** Chats and agents of `berth`, by an endpoint that answers as written here. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { startAgent } from '../../../cli/endpoint/agent-start.ts';
import { describeAgent } from '../../../cli/endpoint/agents.ts';
import { answer, converse, joinMessage } from '../../../cli/endpoint/chat.ts';
import { openEndpoint } from '../../../cli/endpoint/endpoint.ts';
import { type MemoryTarget, recordOutput, setConditions, startMemoryTarget } from './memory-target.ts';

const MODEL = {
  id: 'qwen/qwen3',
  object: 'model',
  created: 1,
  owned_by: 'qwen',
  display_name: 'Qwen3',
  permission: [],
  routes: ['/v1/chat/completions', '/v1/responses'],
  max_model_len: 65_536,
};
const KEY = 'sk-berth-of-the-test';
const frame = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const delta = (content: string) => frame({ choices: [{ delta: { content } }] });

describe('berth, by an endpoint', () => {
  let target: MemoryTarget;
  let server: Server;
  let frames: string[];
  let models: string;
  beforeEach(async () => {
    models = JSON.stringify({ object: 'list', data: [MODEL] });
    frames = [
      delta('Hello'),
      delta(' there\u001b'),
      frame({ usage: { total_tokens: 3 } }),
      'data: [DONE]\n\n',
    ];
    server = createServer((req, res) => {
      req.resume();
      if (req.headers.authorization !== `Bearer ${KEY}`)
        res
          .writeHead(401, { 'content-type': 'application/json' })
          .end(
            '{"error":{"message":"The API key is not valid.","type":"t","param":null,"code":"invalid_api_key"}}',
          );
      else if (req.method === 'GET') res.end(models);
      else res.setHeader('x-request-id', 'req_1').end(frames.join(''));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    target = await startMemoryTarget();
    target.api.create('modeldeployments.berth.dev', {
      apiVersion: 'berth.dev/v1alpha1',
      kind: 'ModelDeployment',
      metadata: { name: 'chat', namespace: 'team' },
      spec: { kind: 'LLM', model: { id: 'qwen/qwen3' }, engine: { preset: 'simulator' } },
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    setConditions(target, 'modeldeployments.berth.dev', 'chat', { url, conditions: [] });
  });
  afterEach(async () => {
    await target.close();
    server.close();
  });

  const open = (variables = {}, keyName?: string, route = '/chat/completions', more = {}) =>
    openEndpoint(target, { name: 'chat', keyName, route, ...more }, variables);
  const problemOf = (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'none',
      (error: Error) => error.message,
    );
  const USER = { role: 'user', content: 'Hi' } as const;

  it('streams an answer, without what drives a terminal', async () => {
    const { output, printed } = recordOutput();
    expect(await answer(await open({ BERTH_KEY: KEY }), [USER], output)).to.equal('Hello there\u001b');
    expect(printed.out).to.equal('Hello there\n');
  });

  it('prints an answer as JSON once it is whole', async () => {
    const { output, printed } = recordOutput(true);
    await answer(await open({ BERTH_KEY: KEY }), [USER], output);
    expect(JSON.parse(printed.out)).to.include({ model: 'qwen/qwen3', request_id: 'req_1' });
  });

  it('fails with the error within a stream, and with one that is cut off', async () => {
    const { output } = recordOutput();
    const endpoint = await open({ BERTH_KEY: KEY });
    frames = [delta('Hel'), frame({ error: { message: 'The engine failed.', code: 'upstream_error' } })];
    expect(await problemOf(answer(endpoint, [USER], output))).to.equal('The engine failed. (upstream_error)');
    frames = [delta('Hel')];
    expect(await problemOf(answer(endpoint, [USER], output))).to.match(/closed before the end/);
  });

  it('takes the key of BERTH_KEY or of the Secret of an APIKey, and says how to get one', async () => {
    expect(await problemOf(open())).to.equal(
      'there is no API key: export BERTH_KEY=$(berth key -n team), or name an APIKey whose Secret you may read with --key',
    );
    expect(await problemOf(open({ BERTH_KEY: 'sk-wrong' }))).to.equal(
      'The API key is not valid. (invalid_api_key); the key is that of BERTH_KEY',
    );
    expect(await problemOf(open({}, 'mine'))).to.match(/^there is no Secret mine-api-key in team/);
    const data = { 'api-key': Buffer.from(KEY).toString('base64') };
    target.api.store.put('secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'mine-api-key', namespace: 'team' },
      data,
    });
    expect((await open({}, 'mine')).key).to.equal(KEY);
  });

  it('refuses an agent whose route is not served', async () => {
    expect(await problemOf(open({ BERTH_KEY: KEY }, undefined, '/messages'))).to.equal(
      'chat does not serve /v1/messages; it serves /v1/chat/completions, /v1/responses',
    );
  });

  it('says what to do if the endpoint cannot be reached from here, and takes another URL', async () => {
    const { url } = await open({ BERTH_KEY: KEY });
    const setURL = (other: string) =>
      setConditions(target, 'modeldeployments.berth.dev', 'chat', { url: other, conditions: [] });
    setURL('http://127.0.0.1:1/v1');
    expect(await problemOf(open({ BERTH_KEY: KEY }))).to.match(
      /does not answer.*kubectl port-forward -n team service\/chat 8080:80, and add --url http:\/\/localhost:8080$/,
    );
    for (const given of [url, new URL(url).origin])
      expect(await open({ BERTH_KEY: KEY }, undefined, undefined, { url: given })).to.have.property(
        'url',
        url,
      );
    expect(await problemOf(open({ BERTH_KEY: KEY }, undefined, undefined, { url: 'x' }))).to.match(
      /^--url x is/,
    );
  });

  it('sends no key over plain HTTP to other machines, unless it may', async () => {
    const url = 'http://chat.invalid/v1';
    setConditions(target, 'modeldeployments.berth.dev', 'chat', { url, conditions: [] });
    expect(await problemOf(open({ BERTH_KEY: KEY }))).to.match(/over plain HTTP.*--plain-http$/);
    const more = { isPlainAllowed: true };
    expect(await problemOf(open({ BERTH_KEY: KEY }, undefined, undefined, more))).to.match(/does not answer/);
  });

  it('says so if something else answers', async () => {
    models = '<html>';
    expect(await problemOf(open({ BERTH_KEY: KEY }))).to.match(/is no endpoint of Berth: it answered 200/);
  });

  it('answers in a conversation what was typed before its end, and ends well after an error', async () => {
    const { output, printed } = recordOutput();
    const endpoint = await open({ BERTH_KEY: KEY });
    await converse(endpoint, [], { input: Readable.from('Hi\nAnd you?\n'), output });
    expect(printed.out).to.equal('Hello there\nHello there\n');
    frames = [delta('Hel'), frame({ error: { message: 'The engine failed.' } })];
    const other = recordOutput();
    await converse(endpoint, [], { input: Readable.from('Hi\n'), output: other.output });
    expect(other.printed.out).to.equal('Hel\n');
    expect(other.printed.error).to.include('berth: The engine failed.');
    expect(other.output.exitCode).to.equal(0);
  });

  it('takes a message and what is piped together', () => {
    expect(joinMessage('Review this', 'diff\n')).to.equal('Review this\n\ndiff');
    expect(joinMessage(undefined, 'diff\n')).to.equal('diff');
    expect(joinMessage('Hello', '')).to.equal('Hello');
  });

  it('refuses an event without an end, and one that is no JSON', async () => {
    const { output } = recordOutput();
    const endpoint = await open({ BERTH_KEY: KEY });
    frames = [`data: ${'x'.repeat(9 * 1024 ** 2)}`];
    expect(await problemOf(answer(endpoint, [USER], output))).to.match(/more than 8 MiB/);
    frames = ['data: <html>\n\n'];
    expect(await problemOf(answer(endpoint, [USER], output))).to.match(/no JSON/);
  });

  it('starts an agent with its own arguments, without variables that lead it elsewhere, and ends with its code', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-agent-'));
    const before = { ...process.env };
    try {
      const script = `#!/bin/sh\n{ printf '%s\\n' "$@"; env; } > '${folder}/seen'\nexit 3\n`;
      for (const name of ['claude', 'codex']) writeFileSync(join(folder, name), script, { mode: 0o755 });
      Object.assign(process.env, {
        PATH: `${folder}${delimiter}${before.PATH}`,
        BERTH_KEY: KEY,
        ANTHROPIC_API_KEY: 'of-another',
        CLAUDE_CODE_USE_BEDROCK: '1',
      });
      const start = async (name: 'claude' | 'codex', passedOn: string[]) => {
        const { output, printed } = recordOutput();
        const invocation = { name, positionals: ['chat'], passedOn, flags: new Set<string>(), values: {} };
        await startAgent(target, invocation, output);
        expect(output.exitCode).to.equal(3);
        return { seen: readFileSync(join(folder, 'seen'), 'utf8'), note: printed.error };
      };
      const codex = await start('codex', ['exec', '--json', 'Hi']);
      expect(codex.seen).to.match(/^exec\n--json\nHi$/m);
      expect(codex.note).to.equal('');
      const small = { ...MODEL, routes: ['/v1/messages'], max_model_len: 2_048 };
      models = JSON.stringify({ object: 'list', data: [small] });
      const { seen, note } = await start('claude', []);
      expect(note).to.match(/the context of qwen\/qwen3 is 2048 tokens/);
      expect(seen)
        .to.include(`ANTHROPIC_AUTH_TOKEN=${KEY}`)
        .and.include('ANTHROPIC_DEFAULT_OPUS_MODEL=qwen/qwen3');
      expect(seen).not.to.match(/ANTHROPIC_API_KEY|CLAUDE_CODE_USE_BEDROCK/);
    } finally {
      process.env = before;
      rmSync(folder, { recursive: true });
    }
  });

  it('gives agents the key by their environment alone', async () => {
    const endpoint = await open({ BERTH_KEY: KEY });
    for (const name of ['claude', 'codex', 'opencode'] as const) {
      const { args, env } = describeAgent(name, endpoint);
      expect(args.join(' ')).not.to.include(KEY);
      expect(Object.values(env)).to.include(KEY);
      expect([...args, ...Object.values(env)].join(' '))
        .to.include('qwen/qwen3')
        .and.include('65536');
    }
  });
});
