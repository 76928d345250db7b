/** Chats and agents of `berth`, by an endpoint that answers as written here. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { describeAgent } from '../../../cli/endpoint/agents.ts';
import { answer } from '../../../cli/endpoint/chat.ts';
import { openEndpoint } from '../../../cli/endpoint/endpoint.ts';
import { type MemoryTarget, recordOutput, setConditions, startMemoryTarget } from './memory-target.ts';

const MODEL = {
  id: 'qwen/qwen3',
  object: 'model',
  created: 1,
  owned_by: 'qwen',
  display_name: 'Qwen3',
  permission: [],
  routes: ['/v1/chat/completions'],
  max_model_len: 65_536,
};
const KEY = 'sk-berth-of-the-test';
const frame = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const delta = (content: string) => frame({ choices: [{ delta: { content } }] });

describe('berth, by an endpoint', () => {
  let target: MemoryTarget;
  let server: Server;
  let frames: string[];
  beforeEach(async () => {
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
      else if (req.method === 'GET') res.end(JSON.stringify({ object: 'list', data: [MODEL] }));
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

  const open = (variables = {}, keyName?: string, route = '/chat/completions') =>
    openEndpoint(target, { name: 'chat', keyName, route }, variables);
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
      'The API key is not valid. (invalid_api_key)',
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
      'chat does not serve /v1/messages; it serves /v1/chat/completions',
    );
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
