import { expect } from 'chai';
import OpenAI, { toFile } from 'openai';
import { encodeBudget } from '../../../api/budget.ts';
import { hashApiKey } from '../../../api/identity.ts';
import { workKeys } from '../../../api/redis-keys.ts';
import { SIGNATURES, toSnakeCase } from '../../../redis/function-table.ts';
import { readFunctionFiles } from '../../../redis/library.ts';
import { linkLibrary } from '../../../redis/lua-linker.ts';
import { pollUntil } from '../../support/poll.ts';
import { publishApiKey } from '../../support/publication.ts';
import { type BatchStack, chatLine, nameLines, type OutputLine, startBatchStack } from './batch-stack.ts';

const namesOf = (lines: OutputLine[]): string[] => lines.map((line) => line.custom_id).sort();

/** The error of a call that must fail. */
const refusalOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (answer) => expect.fail(`it answered ${JSON.stringify(answer)}`),
    (error: unknown) => error,
  );

describe('a batch, by OpenAI’s SDK', () => {
  let stack: BatchStack;
  before(async () => {
    stack = await startBatchStack({
      spec: { pricing: { perMillionInputTokens: '100', perMillionOutputTokens: '100', batchPercent: 50 } },
    });
  });
  after(() => stack?.stop());

  it('runs each line once, and is charged at the price of batches', async () => {
    const before = await stack.credit();
    const file = await stack.upload(250);
    expect(file).to.include({
      object: 'file',
      purpose: 'batch',
      filename: 'chats.jsonl',
      status: 'processed',
    });
    const made = await stack.create(file.id, { metadata: { run: 'first' } });
    expect(made).to.include({ object: 'batch', input_file_id: file.id, completion_window: '24h' });
    const batch = await stack.untilEnded(made.id);
    expect(batch.status).to.equal('completed');
    expect(batch.request_counts).to.eql({ total: 250, completed: 250, failed: 0 });
    expect(batch.metadata).to.eql({ run: 'first' });
    expect(batch.error_file_id).to.equal(null);

    const lines = await stack.read(batch.output_file_id);
    expect(namesOf(lines)).to.eql(nameLines(250).sort());
    expect(lines[0]!.response.status_code).to.equal(200);
    expect(lines[0]!.response.body.choices[0]!.message.content).to.be.a('string');
    const used = lines.reduce((sum, line) => sum + line.response.body.usage.total_tokens, 0);
    expect(batch.usage!.total_tokens).to.equal(used);
    // 100 per million, half of it for batches.
    expect((await stack.credit()) - before).to.be.closeTo(used * 50, 1);
  });

  it('keeps the answers of the engine and of the gateway apart', async () => {
    const file = await stack.upload([chatLine('good'), chatLine('bad', { max_tokens: 'many' })]);
    const batch = await stack.untilEnded((await stack.create(file.id)).id);
    expect(batch.request_counts).to.eql({ total: 2, completed: 1, failed: 1 });
    expect(namesOf(await stack.read(batch.output_file_id))).to.eql(['good']);
    const [fault] = await stack.read(batch.error_file_id);
    expect(fault).to.include({ custom_id: 'bad' });
    expect(fault!.response).to.include({ status_code: 400 });
    expect(fault!.response.body.error.param).to.equal('max_tokens');
  });

  it('fails as a whole for a file with a wrong line, and runs nothing', async () => {
    const [{ requests }] = [await stack.engines[0]!.read()];
    const file = await stack.upload([chatLine('a'), chatLine('a'), chatLine('b', { model: 'gpt-5' })]);
    expect(file.status).to.equal('error');
    const batch = await stack.create(file.id);
    expect(batch.status).to.equal('failed');
    expect(batch.errors!.data!.map(({ code, line }) => `${code} ${line}`)).to.eql([
      'duplicate_custom_id 2',
      'mismatched_model 3',
    ]);
    expect((await stack.engines[0]!.read()).requests).to.equal(requests);
  });

  it('lists pages of files and batches, and deletes with the objects', async () => {
    const file = await stack.upload(1);
    const made: string[] = [];
    for (let count = 0; count < 3; count++) made.push((await stack.create(file.id)).id);
    for (const id of made) await stack.untilEnded(id);
    const found: string[] = [];
    for await (const each of stack.client.batches.list({ limit: 2 })) found.push(each.id);
    expect(new Set(found).size).to.equal(found.length);
    expect(found.slice(0, 3)).to.eql(made.toReversed());
    const files: string[] = [];
    for await (const { id } of stack.client.files.list({ limit: 2 })) files.push(id);
    for (const id of files) await stack.client.files.delete(id);
    const later = Date.now() + 60_000;
    const due = await stack.redis.zcount(workKeys('team').cleanup, '-inf', later);
    expect(due).to.equal(stack.storage.listObjects().length);
    expect(await refusalOf(stack.create('file_0'))).to.include({ status: 404 });
  });

  it('refuses what it cannot run, with what is allowed', async () => {
    const file = await stack.upload(1);
    const failures: [object, string][] = [
      [{ endpoint: '/v1/embeddings' }, 'endpoint'],
      [{ completion_window: '30d' }, 'completion_window'],
      [{ metadata: { a: 1 } }, 'metadata'],
      [{ output_expires_after: { anchor: 'created_at', seconds: 1 } }, 'output_expires_after.seconds'],
    ];
    for (const [more, param] of failures)
      expect(await refusalOf(stack.create(file.id, more))).to.include({ param });
  });

  it('cancels: what is done can be downloaded, and the rest is named', async () => {
    await stack.engines[0]!.control({ ttftMs: 200 });
    const file = await stack.upload(300);
    const { id } = await stack.create(file.id);
    await pollUntil(async () => (await stack.engines[0]!.read()).inflight > 0, 'the first lines');
    expect(await refusalOf(stack.client.files.delete(file.id))).to.include({
      status: 409,
      code: 'file_in_use',
    });
    expect((await stack.client.batches.cancel(id)).status).to.equal('cancelling');
    const batch = await stack.untilEnded(id);
    expect(batch.status).to.equal('cancelled');
    const [done, left] = await Promise.all([
      stack.read(batch.output_file_id),
      stack.read(batch.error_file_id),
    ]);
    expect(namesOf([...done, ...left])).to.eql(nameLines(300).sort());
    expect(new Set(left.map(({ error }) => error.code))).to.eql(new Set(['batch_cancelled']));
    const refusal = await refusalOf(stack.client.batches.cancel(id));
    expect(refusal).to.include({ code: 'batch_not_cancellable' });
    await stack.engines[0]!.reset();
  });

  it('waits while its key may send no more', async () => {
    const key = 'sk-slow';
    const fields = { n: 'slow', rpm: 3, tpd: 1_000_000, exp: 0, off: 0 as const };
    await publishApiKey(stack.redis, 'team', hashApiKey(key), fields);
    const file = await stack.upload(5);
    const slow = new OpenAI({ apiKey: key, baseURL: stack.replicas[0]!.url, maxRetries: 0 });
    const { id } = await slow.batches.create({
      input_file_id: file.id,
      endpoint: '/v1/chat/completions',
      // Berth's own; the SDK has the type of OpenAI's.
      completion_window: '1h' as '24h',
    });
    const counter = workKeys('team').rpm(hashApiKey(key));
    await pollUntil(async () => Number(await stack.redis.get(counter)) === 3, 'its minute is used up');
    // Others' lines are run meanwhile.
    const other = await stack.create((await stack.upload(3)).id);
    expect((await stack.untilEnded(other.id)).status).to.equal('completed');
    await stack.redis.del(counter);
    await publishApiKey(stack.redis, 'team', hashApiKey(key), { ...fields, rpm: 1_000 });
    const batch = await stack.untilEnded(id);
    expect(batch.request_counts).to.eql({ total: 5, completed: 5, failed: 0 });
  });

  it('ends with a budget: lines say so, and no further work is taken', async () => {
    const key = 'sk-bounded';
    const fields = { n: 'bounded', rpm: 60_000, tpd: 1_000_000, exp: 0, off: 0 as const };
    const budget = { micros: 1_000, period: 'Month', warnAt: [] } as const;
    await publishApiKey(stack.redis, 'team', hashApiKey(key), { ...fields, bud: encodeBudget(budget) });
    const file = await stack.upload(100);
    const bounded = new OpenAI({ apiKey: key, baseURL: stack.replicas[0]!.url, maxRetries: 0 });
    const order = {
      input_file_id: file.id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    } as const;
    const batch = await stack.untilEnded((await bounded.batches.create(order)).id);
    expect(batch.status).to.equal('completed');
    expect(batch.request_counts!.completed).to.be.within(1, 99);
    const refused = await stack.read(batch.error_file_id);
    expect(new Set(refused.map(({ error }) => error.code))).to.eql(new Set(['insufficient_quota']));
    const upload = { file: await toFile(Buffer.from(chatLine('a')), 'a.jsonl'), purpose: 'batch' } as const;
    for (const call of [bounded.batches.create(order), bounded.files.create(upload)])
      expect(await refusalOf(call)).to.include({ status: 503, code: 'insufficient_quota' });
    expect((await bounded.batches.retrieve(batch.id)).id).to.equal(batch.id);
    await publishApiKey(stack.redis, 'team', hashApiKey(key), { ...fields, dep: 'other' });
    expect(await refusalOf(bounded.batches.create(order))).to.include({ status: 403 });
  });

  it('gives its slots to requests at once, and runs those lines again', async () => {
    const [engine] = stack.engines;
    await engine!.control({ ttftMs: 600_000 });
    const { id } = await stack.create((await stack.upload(8)).id);
    await pollUntil(async () => (await engine!.read()).inflight === 8, 'busy slots');
    await engine!.control({ ttftMs: 1_000 });
    const ask = () =>
      stack.client.chat.completions.create({
        ...{ model: 'berth/chat', messages: [{ role: 'user', content: 'hello' }], max_tokens: 2 },
      });
    const answers = await Promise.all(Array.from({ length: 8 }, ask));
    expect(answers.map(({ choices }) => choices.length)).to.eql(Array(8).fill(1));
    await engine!.reset();
    const batch = await stack.untilEnded(id);
    expect(batch.request_counts).to.eql({ total: 8, completed: 8, failed: 0 });
    expect(namesOf(await stack.read(batch.output_file_id))).to.eql(nameLines(8).sort());
  });
});

describe('a batch, while Redis has the functions of a version before batches', () => {
  let stack: BatchStack;
  afterEach(() => stack?.stop());

  it('waits, and calls are refused until it has them again', async () => {
    stack = await startBatchStack();
    await stack.engines[0]!.control({ ttftMs: 100 });
    const file = await stack.upload(200);
    const { id } = await stack.create(file.id);
    await pollUntil(async () => (await stack.engines[0]!.read()).requests >= 20, 'the first lines');
    const library = linkLibrary(readFunctionFiles());
    await stack.redis.function('LOAD', 'REPLACE', withoutBatches(library));
    const calls = [
      () => stack.upload(1),
      () => stack.create(file.id),
      () => stack.client.batches.retrieve(id),
    ];
    for (const call of calls) expect(await refusalOf(call())).to.include({ status: 503 });
    await stack.redis.function('LOAD', 'REPLACE', library);
    const batch = await stack.untilEnded(id);
    expect(batch).to.deep.include({
      status: 'completed',
      request_counts: { total: 200, completed: 200, failed: 0 },
    });
    expect(namesOf(await stack.read(batch.output_file_id))).to.eql(nameLines(200).sort());
  });
});

const BATCH_FUNCTIONS = Object.keys(SIGNATURES).filter((name) => /file|batch|chunk/i.test(name));

const withoutBatches = (library: string): string =>
  library.replace(
    'redis.register_function({',
    `if ({ ${BATCH_FUNCTIONS.map((name) => `${toSnakeCase(name)} = true`).join(', ')} })[name] then return end\n$&`,
  );

describe('a batch whose replica is killed', () => {
  let stack: BatchStack;
  afterEach(() => stack?.stop());

  it('is whole: each line once, charged once', async () => {
    stack = await startBatchStack({
      pods: 2,
      spec: { pricing: { perMillionInputTokens: '100', perMillionOutputTokens: '100' } },
    });
    for (const engine of stack.engines) await engine.control({ ttftMs: 100 });
    const { id } = await stack.create((await stack.upload(600)).id);
    const [first] = stack.engines;
    await pollUntil(async () => (await first!.read()).requests >= 20, 'lines on the first replica');
    await stack.replicas[0]!.stop('SIGKILL');
    await stack.base.server.restart();
    const batch = await stack.untilEnded(id);
    expect(batch.status).to.equal('completed');
    const lines = await stack.read(batch.output_file_id);
    expect(namesOf([...lines, ...(await stack.read(batch.error_file_id))])).to.eql(nameLines(600).sort());
    expect(lines).to.have.length(600);
    const used = lines.reduce((sum, line) => sum + line.response.body.usage.total_tokens, 0);
    expect(batch.usage!.total_tokens).to.equal(used);
    expect(await stack.credit()).to.be.closeTo(used * 100, 1);
  });
});
