/** The tests of SDKs that `make test-conformance` runs with the simulator, with the real engine. */
import { spawn } from 'node:child_process';
import { expect } from 'chai';
import { type EngineName, readEngine } from './catalog.ts';
import { tellMeasure } from './measures.ts';
import { type ServeOptions, serveModel } from './served-model.ts';

const { name, engine } = readEngine();
const TEST_TIMEOUT_MS = 300_000;

interface SDKRun {
  /** Completes "… tests". */
  what: string;
  files: string[];
  options: ServeOptions;
}

/** With random weights, it would generate up to the end of its context for a request without `max_tokens`. */
const ENDING = ['--predict', '256'];

/** Their models have the example's names, which the tests use. */
const TEXT: SDKRun = {
  what: 'SDK',
  files: ['openai-node', 'openai-python', 'anthropic-node', 'responses', 'langchain', 'vercel-ai'],
  options: {
    modelId: 'berth/tiny-chat',
    // The template of the tiny model is made for the parser of this family.
    engine: { family: 'qwen3-instruct', ...(name === 'llama-cpp' && { args: ENDING }) },
    beside: { name: 'tiny-embed', kind: 'Embedding', modelId: 'berth/tiny-embed' },
  },
};
const MEDIA: SDKRun = {
  what: 'SDK',
  files: ['openai-images', 'openai-videos', '../integration-cluster/conformance/openai-images-bucket'],
  options: {
    kind: 'Image',
    modelId: 'berth/tiny-image',
    spec: {
      concurrency: 1,
      image: {
        sizes: ['256x256', '512x768'],
        tasks: ['txt2img', 'img2img'],
        parameters: ['seed', 'num_inference_steps', 'guidance_scale', 'negative_prompt'],
        steps: { min: 1, max: 8, default: 2 },
      },
      limits: { waitForSlot: '120s' },
    },
    beside: {
      name: 'tiny-video',
      kind: 'Video',
      modelId: 'berth/tiny-video',
      spec: {
        concurrency: 1,
        video: {
          resolutions: ['320x192'],
          tasks: ['t2v'],
          parameters: ['fps'],
          steps: { min: 1, max: 8, default: 4 },
        },
      },
    },
  },
};
const RERANK: SDKRun = {
  what: 'rerank SDK',
  files: ['cohere'],
  // Named like a model of the family whose output format the tiny model has.
  options: { kind: 'Rerank' },
};
const RERANKING: EngineName[] = ['vllm', 'llama-cpp'];
/** No speech model is small enough, so the tests of speech need the simulator. */
const AUDIO: SDKRun = {
  what: 'audio SDK',
  files: ['openai-audio'],
  options: { kind: 'Transcription' },
};
const HEARING: EngineName[] = ['vllm'];

const runs = [
  engine.context === undefined ? MEDIA : TEXT,
  ...(RERANKING.includes(name) ? [RERANK] : []),
  ...(HEARING.includes(name) ? [AUDIO] : []),
];

interface Report {
  stats: { passes: number; pending: number; failures: number };
  failures: { fullTitle: string; err: { message: string } }[];
}

describe(`SDKs with ${name}`, function () {
  this.timeout(1_800_000);
  for (const { what, files, options } of runs)
    it(`pass their tests as with the simulator: ${files.join(', ')}`, async () => {
      const served = await serveModel(name, options);
      const { stats, failures } = await runConformance(files, served.folder).finally(() => served.stop());
      const { passes, failures: failed, pending } = stats;
      // First, so that the table has the counts even if tests fail.
      tellMeasure(`${what} tests`, `${passes} passed, ${failed} failed, ${pending} need the simulator`);
      if (failures.length > 0)
        throw new Error(failures.map(({ fullTitle, err }) => `${fullTitle}: ${err.message}`).join('\n'));
      expect(passes).to.be.greaterThan(0);
    });
});

function runConformance(files: readonly string[], folder: string): Promise<Report> {
  const paths = files.map((file) => `test/conformance/${file}.test.ts`);
  const args = ['--exit', '--reporter', 'json', '--timeout', String(TEST_TIMEOUT_MS), ...paths];
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
