import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
import type { Container } from '../../../launch/local-node/pod-spec.ts';
import { build } from '../operator/resources/fixtures.ts';

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
    resolveProgram({ name: 'engine', image, ...(command ? { command } : {}) }, args, { path, env: {} });

  it('is llama-server for llama.cpp, with its arguments', async () => {
    const program = await resolve('ghcr.io/ggml-org/llama.cpp:server-b1', undefined, ['--port', '8000']);
    expect(program).to.deep.equal({
      kind: 'command',
      command: join(path, 'llama-server'),
      args: ['--port', '8000'],
    });
  });

  it('is the first word of its command', async () => {
    const program = await resolve('docker.io/vllm/vllm-openai:v1', ['vllm', 'serve'], ['model']);
    expect(program).to.deep.equal({ kind: 'command', command: join(path, 'vllm'), args: ['serve', 'model'] });
  });

  it('is one of Berth’s own in a process that several share', async () => {
    expect(await resolve(LOCAL_IMAGE, undefined, ['simulator/main.ts'])).to.deep.equal({
      kind: 'hosted',
      program: 'simulator',
    });
  });

  it('is the loader of weights, in a process of its own', async () => {
    const { pod } = build({
      model: { id: 'm', source: { s3: { uri: 's3://models/b' }, cache: { claimName: 'c' } } },
    });
    const { args } = pod.initContainers!.find(({ name }) => name === 'fetch-weights')!;
    const program = await resolve(LOCAL_IMAGE, undefined, args);
    expect(program).to.include({ kind: 'command', command: process.execPath });
    const [file] = (program as { args: string[] }).args;
    expect(existsSync(file!), file).to.equal(true);
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
    it(`is missing for an engine ${what}`, async () => {
      const program = await resolve(image, command && [...command]);
      expect(program).to.include({ kind: 'missing', reason: 'EngineNotInstalled' });
      expect((program as { message: string }).message).to.match(words);
    });
});

describe('the program of an engine that a shell starts', () => {
  let path: string;
  before(() => {
    path = mkdtempSync(join(tmpdir(), 'berth-shell-path-'));
    writeFileSync(join(path, 'bash'), '#!/bin/sh\n', { mode: 0o755 });
  });
  after(() => rmSync(path, { recursive: true }));

  for (const [preset, name] of [
    ['sglang-diffusion', 'sglang'],
    ['vllm-omni', 'vllm'],
  ] as const)
    it(`is missing where the engine is, and not where only the shell is there: ${preset}`, async () => {
      const source = { huggingFace: { repo: 'org/model', revision: 'abc' } };
      const { engine } = build({ kind: 'Image', engine: { preset }, model: { id: 'm', source } });
      const resolve = () => resolveProgram(engine as Container, [], { path, env: {} });
      expect(await resolve())
        .to.include({ reason: 'EngineNotInstalled' })
        .and.have.property('message')
        .that.includes(`${name} is not on this machine`);
      writeFileSync(join(path, name), '#!/bin/sh\n', { mode: 0o755 });
      expect(await resolve()).to.include({ kind: 'command', command: join(path, 'bash') });
    });
});

describe('the program of an engine that is a Python module', () => {
  let path: string;
  before(() => {
    path = mkdtempSync(join(tmpdir(), 'berth-python-'));
    // Finds only one module, which is the last argument.
    const script = '#!/bin/sh\nfor last; do :; done\n[ "$last" = "$INSTALLED" ] || exit 44\n';
    writeFileSync(join(path, 'python3'), script, { mode: 0o755 });
  });
  after(() => rmSync(path, { recursive: true }));

  const resolve = (env: Record<string, string>) =>
    resolveProgram(
      { name: 'engine', image: 'lmsysorg/sglang:v1', command: ['python3', '-m', 'sglang.launch_server'] },
      ['--port', '8000'],
      { path, env },
    );

  it('is Python with this module where it is installed, as the container’s environment finds it', async () => {
    expect(await resolve({ INSTALLED: 'sglang' })).to.deep.equal({
      kind: 'command',
      command: join(path, 'python3'),
      args: ['-m', 'sglang.launch_server', '--port', '8000'],
    });
  });

  it('is missing, with the command that installs it, where Python has no such module', async () => {
    expect(await resolve({ INSTALLED: 'vllm' })).to.deep.equal({
      kind: 'missing',
      reason: 'EngineNotInstalled',
      message:
        'python3 on this machine has no module sglang; install it with: ' +
        'pip install "sglang[all]" (in a virtual environment, active when make run starts)',
    });
  });

  it('starts if that cannot be determined, and then reports its own error', async () => {
    writeFileSync(join(path, 'python3'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    expect(await resolve({})).to.include({ kind: 'command' });
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

  it('are without the files that only an image has', () => {
    const args = [
      'a',
      '--chat-template=/vllm-workspace/examples/tool_chat_template_a.jinja',
      '--chat-template=/sgl-workspace/sglang/examples/chat_template/tool_chat_template_a.jinja',
      '--chat-template=/mine.jinja',
    ];
    expect(translateArgs(args, translation)).to.deep.equal(['a', '--chat-template=/mine.jinja']);
  });

  it('are with the prompts of rerankers, which would rank badly without', () => {
    const args = ['--chat-template=/vllm-workspace/examples/pooling/score/template/mxbai_rerank_v2.jinja'];
    expect(translateArgs(args, translation)).to.deep.equal(args);
  });

  it('name the checkout’s own prompt of the Qwen3 reranker', () => {
    for (const folder of ['/vllm-workspace', '/app/vllm']) {
      const given = `--chat-template=${folder}/examples/pooling/score/template/qwen3_reranker.jinja`;
      const [arg, ...more] = translateArgs([given], translation);
      const prompt = readFileSync(arg!.slice('--chat-template='.length), 'utf8');
      expect(prompt).to.include('<Query>: {{').and.include('<Document>: {{').and.include('"yes" or "no"');
      expect(more).to.deep.equal([]);
    }
  });

  it('find the prompt of the preset itself', () => {
    const model = { id: 'a', source: { pvc: { claimName: 'c', path: 'Qwen3-Reranker-0.6B' } } };
    const { engine } = build({ kind: 'Rerank', model, engine: { preset: 'vllm' } });
    const template = translateArgs(engine.args!, translation).find((arg) =>
      arg.startsWith('--chat-template='),
    );
    expect(existsSync(template!.slice('--chat-template='.length)), template).to.equal(true);
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
