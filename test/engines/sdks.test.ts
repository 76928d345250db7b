/** The tests of SDKs that `make test-conformance` runs with the simulator, with the real engine. */
import { spawn } from 'node:child_process';
import { expect } from 'chai';
import { pollUntil } from '../support/poll.ts';
import { ask } from './answers.ts';
import { REAL_ENGINES, readEngine } from './catalog.ts';
import { tellMeasure } from './measures.ts';
import { CLAIM, type ServedModel, serveModel } from './served-model.ts';

const { name } = readEngine();
const FILES = ['openai-node', 'openai-python', 'anthropic-node', 'responses', 'langchain', 'vercel-ai'];
/** As the example's, which the tests ask for. */
const MODELS = { chat: 'berth/tiny-chat', embed: 'berth/tiny-embed' };
const TEST_TIMEOUT_MS = 300_000;
const START_TIMEOUT_MS = 600_000;

interface Report {
  stats: { passes: number; pending: number; failures: number };
  failures: { fullTitle: string; err: { message: string } }[];
}

describe(`SDKs with ${name}`, function () {
  this.timeout(1_800_000);
  let served: ServedModel;
  before(async () => {
    served = await serveModel(name, {
      modelId: MODELS.chat,
      // Whose parser the tiny model's template is made for.
      engine: { family: 'qwen3-instruct' },
      beside: JSON.stringify(describeEmbedding()),
    });
    await pollUntil(
      async () => {
        const target = served.findTarget('Embedding');
        return (await ask(target, '/embeddings', { input: 'x' })).status === 200;
      },
      'the embeddings to be served',
      START_TIMEOUT_MS,
    );
  });
  after(() => served?.stop());

  it('work as with the simulator', async () => {
    const { stats, failures } = await runConformance(served.folder);
    if (failures.length > 0)
      throw new Error(failures.map(({ fullTitle, err }) => `${fullTitle}: ${err.message}`).join('\n'));
    expect(stats.passes).to.be.greaterThan(0);
    tellMeasure('tests of SDKs', `${stats.passes} passed, ${stats.pending} need the simulator`);
  });
});

function describeEmbedding(): object {
  const { path, args, env } = REAL_ENGINES[name].tinyModel('Embedding');
  return {
    apiVersion: 'berth.dev/v1alpha1',
    kind: 'ModelDeployment',
    metadata: { name: 'tiny-embed', namespace: 'default' },
    spec: {
      kind: 'Embedding',
      model: { id: MODELS.embed, source: { pvc: { claimName: CLAIM, path } } },
      engine: {
        preset: name,
        args,
        env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
      },
    },
  };
}

function runConformance(folder: string): Promise<Report> {
  const files = FILES.map((file) => `test/conformance/${file}.test.ts`);
  const args = ['--exit', '--reporter', 'json', '--timeout', String(TEST_TIMEOUT_MS), ...files];
  return new Promise((resolve, reject) => {
    const child = spawn('mocha', args, {
      env: { ...process.env, RUNNING_STACK: folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.once('error', reject);
    child.once('close', () => {
      try {
        resolve(JSON.parse(output.slice(output.indexOf('{'))));
      } catch {
        reject(new Error(`mocha wrote no report:\n${output}`));
      }
    });
  });
}
