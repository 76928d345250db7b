/** `berth batch`, by an endpoint that answers as written here. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { runBatch } from '../../../cli/endpoint/batch.ts';
import { type MemoryTarget, recordOutput, setConditions, startMemoryTarget } from './memory-target.ts';

const MODEL = {
  ...{ id: 'qwen/qwen3', object: 'model', created: 1, owned_by: 'qwen', display_name: 'Qwen3' },
  ...{ permission: [], routes: ['/v1/chat/completions'] },
};
const FILE = {
  ...{ id: 'file_1', object: 'file', bytes: 1, created_at: 1, expires_at: 2, filename: 'chats.jsonl' },
  ...{ purpose: 'batch', status: 'processed', status_details: null },
};
const BATCH = {
  ...{ id: 'batch_1', object: 'batch', endpoint: '/v1/chat/completions', model: 'qwen/qwen3', errors: null },
  ...{ input_file_id: 'file_1', completion_window: '24h', status: 'in_progress', output_file_id: null },
  ...{ error_file_id: null, created_at: 1, in_progress_at: 1, expires_at: 2, finalizing_at: null },
  ...{ completed_at: null, failed_at: null, expired_at: null, cancelling_at: null, cancelled_at: null },
  request_counts: { total: 2, completed: 0, failed: 0 },
  usage: {
    ...{ input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  },
  metadata: null,
};
const DONE = {
  ...{ ...BATCH, status: 'completed', output_file_id: 'file_2', error_file_id: 'file_3' },
  request_counts: { total: 2, completed: 1, failed: 1 },
};

describe('berth batch', () => {
  let target: MemoryTarget;
  let server: Server;
  let folder: string;
  let uploaded: string;
  let created: Record<string, unknown>;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-batch-'));
    server = createServer(async (req, res) => {
      const body = await text(req);
      const answers: Record<string, unknown> = {
        'GET /v1/models': { object: 'list', data: [MODEL] },
        'POST /v1/files': FILE,
        'POST /v1/batches': BATCH,
        'GET /v1/batches/batch_1': DONE,
      };
      const asked = `${req.method} ${req.url}`;
      if (asked === 'POST /v1/files') uploaded = body;
      if (asked === 'POST /v1/batches') created = JSON.parse(body);
      if (req.url?.endsWith('/content')) res.end(`${req.url}\n`);
      else res.end(JSON.stringify(answers[asked]));
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
    process.env.BERTH_KEY = 'sk-test';
  });
  afterEach(async () => {
    delete process.env.BERTH_KEY;
    await target.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const run = async (line: string, flags: string[] = []) => {
    const path = join(folder, 'chats.jsonl');
    writeFileSync(path, line);
    const { output, printed } = recordOutput();
    const invocation = { name: 'batch' as const, positionals: ['chat', path], passedOn: [], values: {} };
    await runBatch(target, { ...invocation, flags: new Set(flags) }, output);
    return { printed, exitCode: output.exitCode };
  };

  it('uploads the file, waits with the progress, and saves what was written', async () => {
    const { printed, exitCode } = await run('{"custom_id": "a", "url": "/v1/chat/completions"}\n');
    expect(uploaded).to.include('"custom_id": "a"').and.include('filename="chats.jsonl"');
    expect(created).to.eql({
      input_file_id: 'file_1',
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    });
    expect(printed.error).to.include('completed, 2 of 2 lines, 1 failed');
    expect(readFileSync(join(folder, 'chats.out.jsonl'), 'utf8')).to.equal('/v1/files/file_2/content\n');
    expect(readFileSync(join(folder, 'chats.out.errors.jsonl'), 'utf8')).to.equal(
      '/v1/files/file_3/content\n',
    );
    expect(exitCode).to.equal(0);
  });

  it('prints the id at once if asked to, and says what a line must be', async () => {
    const { printed } = await run('{"custom_id": "a", "url": "/v1/chat/completions"}', ['no-wait']);
    expect(printed.out).to.equal('batch_1\n');
    const error: Error = await run('{"prompt": 1}').then(
      () => expect.fail('it ran'),
      (thrown) => thrown,
    );
    expect(error.message).to.match(/first line of .* must be an object with custom_id, method, url and body/);
  });
});
