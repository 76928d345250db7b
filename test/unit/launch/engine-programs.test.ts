import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  LOCAL_IMAGE,
  resolveProgram,
  type Translation,
  translateArgs,
  translateEnv,
} from '../../../launch/local-node/engine-programs.ts';

describe('the program that stands for an image', () => {
  let path: string;
  before(() => {
    path = mkdtempSync(join(tmpdir(), 'berth-path-'));
    for (const name of ['llama-server', 'vllm']) {
      writeFileSync(join(path, name), '#!/bin/sh\n');
      chmodSync(join(path, name), 0o755);
    }
  });
  after(() => rmSync(path, { recursive: true }));

  const resolve = (image: string, command?: string[], args: string[] = []) =>
    resolveProgram({ name: 'engine', image, ...(command ? { command } : {}) }, args, path);

  it('is llama-server for llama.cpp, with its arguments', () => {
    const program = resolve('ghcr.io/ggml-org/llama.cpp:server-b1', undefined, ['--port', '8000']);
    expect(program).to.deep.equal({
      kind: 'command',
      command: join(path, 'llama-server'),
      args: ['--port', '8000'],
    });
  });

  it('is the first word of its command', () => {
    const program = resolve('docker.io/vllm/vllm-openai:v1', ['vllm', 'serve'], ['model']);
    expect(program).to.deep.equal({ kind: 'command', command: join(path, 'vllm'), args: ['serve', 'model'] });
  });

  it('is one of Berth’s own in a process that several share', () => {
    expect(resolve(LOCAL_IMAGE, undefined, ['simulator/main.ts'])).to.deep.equal({
      kind: 'hosted',
      program: 'simulator',
    });
  });

  for (const [what, image, command, words] of [
    [
      'that is not installed',
      'ghcr.io/huggingface/text-embeddings-inference:1',
      undefined,
      /install it with: cargo install/,
    ],
    [
      'of a command that is not there',
      'example.test/own:1',
      ['serve-it'],
      /^serve-it is not on this machine$/,
    ],
    ['without a command', 'example.test/own:1', undefined, /spec\.engine\.command/],
  ] as const)
    it(`is missing for an engine ${what}`, () => {
      const program = resolve(image, command && [...command]);
      expect(program).to.include({ kind: 'missing', reason: 'EngineNotInstalled' });
      expect((program as { message: string }).message).to.match(words);
    });
});

describe('a container’s words on this machine', () => {
  const translation: Translation = {
    paths: new Map([['/models', '/state/weights']]),
    ip: '127.31.164.2',
    port: (port) => port + 1,
    ports: [8000],
  };

  it('name its own address, ports and folders', () => {
    const args = [
      '--host',
      '127.0.0.1',
      '--port=8000',
      '--port',
      '8000',
      '--model=/models/a.gguf',
      '/models',
      '/modelsx',
    ];
    expect(translateArgs(args, translation)).to.deep.equal([
      '--host',
      '127.31.164.2',
      '--port=8001',
      '--port',
      '8001',
      '--model=/state/weights/a.gguf',
      '/state/weights',
      '/modelsx',
    ]);
  });

  it('leave alone what only looks like a port, and services of the machine', () => {
    const args = ['--max-model-len', '8000', '--max-model-len=8000', 'http://127.0.0.1:11434'];
    expect(translateArgs(args, translation)).to.deep.equal(args);
  });

  it('are translated in variables too', () => {
    const env = { ENGINE_PORT: '8000', URL: 'http://127.0.0.1:8000/v1', TOKENS: '8000', HOST: '127.0.0.1' };
    expect(translateEnv(env, translation)).to.deep.equal({
      ENGINE_PORT: '8001',
      URL: 'http://127.31.164.2:8001/v1',
      TOKENS: '8000',
      HOST: '127.31.164.2',
    });
  });
});
