/** LoRA adapters on a real engine, with the flags that the operator gives it, loaded by a gateway. */
import { join } from 'node:path';
import { expect } from 'chai';
import { buildGatewayConfig, type GatewayConfig } from '../../api/gateway-config.ts';
import { ADMIN_PATHS } from '../../api/gateway-environment.ts';
import type { ModelDeployment } from '../../api/model-deployment.ts';
import { buildAdapterConfig } from '../../operator/resources/adapter-config.ts';
import { serveAdapter } from '../../operator/resources/adapters.ts';
import { publishDeployment } from '../../redis/publication/publication.ts';
import { findFreePort } from '../support/child-program.ts';
import { readHeartbeats } from '../support/heartbeats.ts';
import { API_KEY, type ModelReplica, startReplica } from '../support/model-replica.ts';
import { pollUntil } from '../support/poll.ts';
import { publishModel } from '../support/replica-stack.ts';
import { TestStack } from '../support/test-stack.ts';
import { build, makeModel, SETTINGS } from '../unit/operator/resources/fixtures.ts';
import { type Answer, ask, type Fields, type Target } from './answers.ts';
import { readEngine } from './catalog.ts';
import { type ContainerEngine, startContainer } from './container-engine.ts';
import { ENGINE_PORT } from './engine-processes.ts';
import { describeTiny } from './tiny-deployment.ts';

const { name, engine } = readEngine();
const ADDRESS = '127.0.62.1';
const ENGINE_URL = `http://${ADDRESS}:${ENGINE_PORT}`;
const NAME = 'sql';
const MODEL_ID = 'acme/sql';
/** On a busy machine, loading its libraries takes minutes. */
const START_TIMEOUT_MS = 900_000;
const ASK_INTERVAL_MS = 250;

const USUAL = { max_tokens: 16, temperature: 0, ignore_eos: true };
const PROMPT = engine.firstPrompt!;
const MESSAGES = { messages: [{ role: 'user', content: PROMPT }] };
const COMPLETION: Fields = { prompt: PROMPT, ...USUAL };
const REQUESTS: [string, Fields][] = [
  ['/completions', COMPLETION],
  ['/completions', { ...COMPLETION, stream: true }],
  ['/chat/completions', { ...MESSAGES, ...USUAL }],
  ['/chat/completions', { ...MESSAGES, ...USUAL, stream: true }],
  ['/messages', { ...MESSAGES, ...USUAL }],
  ['/responses', { input: PROMPT, max_output_tokens: 16, temperature: 0, ignore_eos: true }],
];

/** What the model said, in any dialect. */
function readWords(value: unknown, field = ''): string {
  if (typeof value === 'string') return ['content', 'text', 'reasoning'].includes(field) ? value : '';
  if (typeof value !== 'object' || value === null) return '';
  return Object.entries(value)
    .map(([key, item]) => readWords(item, key))
    .join('');
}

describe(`LoRA adapters of ${name}`, function () {
  this.timeout(2 * START_TIMEOUT_MS);
  let base: ModelDeployment;
  let adapters: string;
  let stack: TestStack;
  let replica: ModelReplica;
  let running: ContainerEngine;
  /** Before it had an adapter. */
  let baseWords: string;

  const start = () => {
    running = startContainer(build(base).engine, {
      address: ADDRESS,
      model: engine.tinyModel('LLM').folder,
      programs: engine.install('LLM'),
    });
  };
  before(async () => {
    const { metadata, spec } = describeTiny(name, {
      name: 'real',
      kind: 'LLM',
      modelId: 'org/qwen3-tiny-instruct',
      engine: { port: ENGINE_PORT, adapters: { claimName: 'adapters' } },
    });
    base = makeModel(spec, metadata);
    adapters = engine.adapters!();
    stack = await TestStack.start();
    const config = buildGatewayConfig(base);
    await publishModel(stack.redis, config);
    start();
    replica = await startReplica({
      redisURL: stack.server.url,
      engineURL: ENGINE_URL,
      config,
      address: ADDRESS,
      port: await findFreePort([ADDRESS]),
    });
    await pollUntil(
      async () => {
        running.checkAlive();
        return (await replica.admin(ADMIN_PATHS.readyz)).ok;
      },
      'the engine to serve',
      START_TIMEOUT_MS,
    );
    baseWords = await say(toBase());
    expect(baseWords).to.not.equal('');
  });
  after(async () => {
    await replica?.stop('SIGKILL');
    await running?.kill();
    await stack?.stop();
  });

  /** As the operator builds it; its files are those of another folder than the claim's. */
  const describeAdapter = (source: string): GatewayConfig => {
    const spec = {
      adapterOf: { deployment: base.metadata.name },
      model: { id: MODEL_ID, source: { huggingFace: { repo: `acme/${source}` } } },
      engine: undefined,
    };
    const adapter = makeModel(spec, { name: NAME, namespace: base.metadata.namespace });
    const config = buildAdapterConfig(serveAdapter(adapter, base), SETTINGS);
    return { ...config, adapter: { ...config.adapter!, path: join(adapters, source) } };
  };
  const engineNameOf = (source: string) => describeAdapter(source).servedModelName;
  const publish = (...sources: string[]) =>
    publishDeployment(stack.redis, { ...buildGatewayConfig(base), adapters: sources.map(describeAdapter) });
  const readBeat = async () => (await readHeartbeats(stack.redis, base.metadata.namespace, NAME))[0];
  const untilLoaded = (source: string) =>
    pollUntil(async () => (await readBeat())?.adapter === engineNameOf(source), `${source} to be loaded`);

  const toBase = (): Target => ({ baseURL: replica.url, model: base.spec.model.id, key: API_KEY });
  const toAdapter = (): Target => ({
    baseURL: `http://${ADDRESS}:${describeAdapter('one').adapter!.port}/v1`,
    model: MODEL_ID,
    key: API_KEY,
  });
  /** Past the gateway. */
  const toEngine = (source: string): Target => ({
    baseURL: `${ENGINE_URL}/v1`,
    model: engineNameOf(source),
  });
  const askFor = async (target: Target, path: string, body: Fields) => {
    const answer = await ask(target, path, body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
    return answer;
  };
  const say = async (target: Target) => readWords((await askFor(target, '/completions', COMPLETION)).body);
  const listModels = async ({ baseURL, key }: Target) => {
    const response = await fetch(`${baseURL}/models`, { headers: { authorization: `Bearer ${key}` } });
    return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  };

  it('has its own model and answers beside those of its base, which stay as they were', async () => {
    await publish('one');
    await untilLoaded('one');
    expect(await listModels(toAdapter())).to.deep.equal([MODEL_ID]);
    expect(await listModels(toBase())).to.deep.equal([base.spec.model.id]);
    for (const [path, body] of REQUESTS) {
      const own = await askFor(toAdapter(), path, body);
      const direct = await askFor(toEngine('one'), path, body);
      const other = await askFor(toBase(), path, body);
      const what = `${path} ${JSON.stringify(body.stream ?? false)}`;
      expect(readWords(own.body), what).to.equal(readWords(direct.body)).and.not.equal('');
      expect(readWords(own.body), what).to.not.equal(readWords(other.body));
      if (path !== '/messages') expect(JSON.stringify(own.body)).to.include(MODEL_ID);
      expect(JSON.stringify(own.body)).to.not.include(engineNameOf('one'));
    }
    expect(await say(toBase())).to.equal(baseWords);
  });

  it('is answered all the time while its source changes, by one of the two', async () => {
    const before = await say(toAdapter());
    const words = new Set<string>();
    await publish('two');
    await pollUntil(
      async () => {
        words.add(await say(toAdapter()));
        return words.size > 1;
      },
      'another answer',
      undefined,
      ASK_INTERVAL_MS,
    );
    const after = await say(toEngine('two'));
    expect(new Set([before, after, baseWords])).to.have.property('size', 3);
    expect([...words]).to.deep.equal([before, after]);
  });

  it('goes on with its source while the engine refuses another, and says why in the words of the engine', async () => {
    const before = await say(toAdapter());
    await publish('wide');
    await pollUntil(async () => (await readBeat())?.adapterError !== undefined, 'the refusal');
    const { adapter, adapterError } = (await readBeat())!;
    expect(adapterError).to.match(/LoRA rank 32 is greater than max_lora_rank 16/);
    expect(adapter).to.equal(engineNameOf('two'));
    expect(await say(toAdapter())).to.equal(before);
    await publish('two');
    await pollUntil(async () => (await readBeat())?.adapterError === undefined, 'no refusal');
  });

  it('is loaded again by an engine that was killed; meanwhile the base answers none of its requests', async () => {
    const before = await say(toAdapter());
    await running.kill();
    start();
    const answers: Answer[] = [];
    await pollUntil(
      async () => {
        running.checkAlive();
        answers.push(await ask(toAdapter(), '/completions', COMPLETION));
        return answers.at(-1)!.status === 200;
      },
      'an answer of the adapter',
      START_TIMEOUT_MS,
      ASK_INTERVAL_MS,
    );
    expect(answers.map(({ status }) => status)).to.include(503);
    for (const { status, body } of answers)
      if (status === 200) expect(readWords(body)).to.equal(before);
      else expect(status, JSON.stringify(body)).to.be.oneOf([502, 503]);
    expect((await replica.admin(ADMIN_PATHS.readyz)).ok).to.equal(true);
    expect(await say(toAdapter())).to.equal(before);
    expect(await say(toBase())).to.equal(baseWords);
  });

  it('is gone once the base no longer lists it, and the base goes on', async () => {
    await publish();
    await pollUntil(
      () =>
        ask(toAdapter(), '/completions', COMPLETION).then(
          () => false,
          () => true,
        ),
      'a closed port',
    );
    expect(await readBeat()).to.equal(undefined);
    expect(await say(toBase())).to.equal(baseWords);
  });
});
