import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';
import { ensurePython } from '../support/python.ts';

const SCHEMATHESIS = 'schemathesis==4.32.5';
const CONFIG = resolve('test/conformance/schemathesis.toml');
/** A repeated key returns the request that had it first, so that no other would be tried. */
const HOOKS = resolve('test/conformance/fresh_keys.py');
/** Some hundred requests per deployment take seconds, and minutes on a busy machine. */
const TIMEOUT_MS = 600_000;

interface Failure extends Error {
  stdout: string;
}

describe('an endpoint and its OpenAPI document', function () {
  this.timeout(TIMEOUT_MS);
  let stack: LocalStack;
  let program: string;
  const folder = mkdtempSync(join(tmpdir(), 'berth-openapi-'));
  before(async () => {
    program = join(dirname(ensurePython([SCHEMATHESIS])), 'st');
    stack = await startLocalStack();
  });
  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await stack?.stop();
  });

  for (const name of [
    'tiny-chat',
    'tiny-embed',
    'tiny-rerank',
    'tiny-transcription',
    'tiny-speech',
    'tiny-image',
    'free-video',
  ])
    it(`agree on what ${name} takes and answers`, async () => {
      const { baseURL, apiKey, simulatorURLs } = stack.endpoints.deployments.find(
        (each) => each.name === name,
      )!;
      await Promise.all((simulatorURLs ?? []).map(makeFast));
      const url = new URL('/openapi.json', baseURL).href;
      await promisify(execFile)(program, ['--config-file', CONFIG, 'run', url], {
        cwd: folder,
        env: { ...process.env, API_KEY: apiKey, NO_COLOR: '1', SCHEMATHESIS_HOOKS: HOOKS },
      }).catch(({ stdout, message }: Failure) => {
        throw new Error(stdout || message);
      });
    });
});

async function makeFast(simulatorURL: string): Promise<void> {
  await fetch(`${simulatorURL}/control`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ttftMs: 0, itlMs: 0, tokens: 3, jobSeconds: 0 }),
  });
}
