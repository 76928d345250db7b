import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { findCause, findLastLine } from '../../../../operator/status/crash-cause.ts';

/** Recorded with vLLM 0.32 and llama.cpp; SGLang's is written after its sources. */
const FOLDER = join(import.meta.dirname, '../../../support/engine-logs');
const readLog = (name: string): string => readFileSync(join(FOLDER, `${name}.txt`), 'utf8');
/** What the kubelet keeps of a log. */
const cutAsKubelet = (log: string): string => log.trimEnd().slice(-2_048);

const NOT_A_REPO =
  "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/models/missing'. Use `repo_type` argument if needed.";

const SERVED = 'INFO:     10.0.0.1:5 - "POST /v1/chat/completions HTTP/1.1" 200 OK';

describe('the cause of a crash', () => {
  const recorded: [name: string, line: string, lineKept?: string][] = [
    ['vllm-missing-model', NOT_A_REPO],
    [
      'vllm-context-too-long',
      'pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig',
    ],
    [
      'vllm-no-kv-cache',
      'ValueError: Available memory on node 0 (17.98/23.54 GiB) on kv cache allocation is less than requested memory for kv (100000.0 GiB). Decrease --kv-cache-memory-bytes, VLLM_CPU_KVCACHE_SPACE, or reduce CPU memory used by other processes.',
      // The kubelet keeps too little.
      'RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}',
    ],
    [
      'sglang-no-memory',
      'RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.2',
    ],
    [
      'llama-cpp-missing-file',
      "gguf_init_from_file: failed to open GGUF file '/models/missing.gguf' (No such file or directory)",
    ],
    ['llama-cpp-broken-file', 'read: string length 22 exceeds remaining file size 11 bytes'],
    ['llama-cpp-unknown-flag', 'error: invalid argument: --no-such-flag'],
  ];
  for (const [name, line, lineKept = line] of recorded) {
    it(`begins with the line that matters: ${name}`, () => {
      expect(findCause(readLog(name))!.split('\n')[0]).to.equal(line);
    });

    it(`begins so with what the kubelet keeps: ${name}`, () => {
      expect(findCause(cutAsKubelet(readLog(name)))!.split('\n')[0]).to.equal(lineKept);
    });
  }

  it('goes on with the lines that follow, each once and without its time', () => {
    const lines = findCause(readLog('llama-cpp-missing-file'))!.split('\n');
    expect(lines[1]).to.equal(
      'llama_model_load: error loading model: llama_model_loader: failed to load model from /models/missing.gguf',
    );
    expect(lines).to.deep.equal([...new Set(lines)]);
    expect(lines.join()).not.to.include('cleaning up');
  });

  it('is what the exception says in full, without the traceback of another', () => {
    const cause = findCause(readLog('vllm-context-too-long'));
    expect(cause).to.include('\n  Value error, User-specified max_model_len (99999999) is greater');
    expect(cause).not.to.include('Traceback');
  });

  const other: [string, string, string | null][] = [
    ['nothing of an empty log', '\n', null],
    ['nothing if no line reports an error', 'loading\nstill loading\n', null],
    [
      'a line with the level of an error, whatever its words',
      '(EngineCore pid=7) ERROR 11-29 14:31:03 [multiproc_executor.py:315] Worker proc VllmWorker-0 died unexpectedly, shutting down executor.\n(EngineCore pid=7) INFO 11-29 14:31:03 [core.py:1] bye',
      'Worker proc VllmWorker-0 died unexpectedly, shutting down executor.',
    ],
    [
      'not the exception of a request after which the engine served',
      `Traceback (most recent call last):\nValueError: bad template\n${SERVED}\ntorch.OutOfMemoryError: CUDA out of memory.`,
      'torch.OutOfMemoryError: CUDA out of memory.',
    ],
    [
      'the exception after which only health checks and scrapes were answered, which vLLM does without its engine',
      'torch.OutOfMemoryError: no\nINFO:     10.0.0.1:5 - "GET /metrics HTTP/1.1" 200 OK\nFinished server process',
      'torch.OutOfMemoryError: no\nFinished server process',
    ],
    [
      'not the exception of a request that was refused',
      `ValueError: bad template\n${SERVED.replace('200 OK', '400 Bad Request')}\nRuntimeError: NCCL error`,
      'RuntimeError: NCCL error',
    ],
    [
      'the exception after which a request was refused, which needs no engine',
      'torch.OutOfMemoryError: no\nbye\nINFO:     10.0.0.1:5 - "POST /tokenize HTTP/1.1" 200 OK',
      'torch.OutOfMemoryError: no\nbye',
    ],
    [
      'the error of a log in JSON',
      '{"level":"INFO","message":"loading"}\n{"level":"ERROR","message":"no such model"}',
      'no such model',
    ],
    ['nothing if the engine served after all errors', `ValueError: bad template\n${SERVED}\nstopping`, null],
    [
      'the latest exception if what followed only points to it',
      `ValueError: bad template\ntorch.OutOfMemoryError: no\n${SERVED}\nEngineDeadError: See the root cause above.`,
      'torch.OutOfMemoryError: no\nEngineDeadError: See the root cause above.',
    ],
    [
      "the gateway's fatal error, not those of requests",
      '{"level":50,"msg":"request failed"}\n{"level":60,"err":{"message":"listen EADDRINUSE"},"msg":"uncaught error, exiting"}',
      'uncaught error, exiting: listen EADDRINUSE',
    ],
    ['not a warning', 'WARNING failed to import\nfatal: no device\nbye', 'fatal: no device\nbye'],
    ['without colors', '\u001b[1;36m(EngineCore pid=7)\u001b[0;0m ValueError: no', 'ValueError: no'],
    [
      'the exception that another caused',
      "Traceback (most recent call last):\nKeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\nValueError: unknown model type x",
      'ValueError: unknown model type x',
    ],
    [
      'a pointer to the cause if the cause is not in the log',
      'Traceback (most recent call last):\nRuntimeError: Engine core initialization failed. See root cause above.',
      'RuntimeError: Engine core initialization failed. See root cause above.',
    ],
    ['of a progress bar the last state', 'load:   0%\rload: 100%\rload failed', 'load failed'],
  ];
  for (const [name, log, cause] of other)
    it(`is ${name}`, () => {
      expect(findCause(log)).to.equal(cause);
    });

  it('shows neither secrets nor what users sent', () => {
    const log = [
      "ValidationError: input_value='tell me a secret', input_type=str",
      'GET https://user:pass1@example.com/m?token=abc123 401',
      `started with --api-key abc123 HF_TOKEN=hf_${'x1'.repeat(17)}`,
      'Authorization: Bearer abc123',
      "AWS_SECRET_ACCESS_KEY=abc123 'api_key': ['other', 'abc123'] secret_key=abc123",
      "[{'type': 'missing', 'input': {'messages': 'tell me all'}, 'ctx': {}}] and 'input': 'tell me more'",
    ];
    const cause = findCause(log.join('\n'))!;
    expect(cause.split('\n')).to.have.length(6);
    expect(cause).not.to.match(/tell me|pass1|abc123|x1x1/);
    const record = { level: 'ERROR', message: "invalid\n'input': {'messages': 'tell me'}\nend" };
    expect(findCause(JSON.stringify(record))).to.equal("invalid\n'input': …");
    expect(findLastLine('loading\npassword=abc123')).to.equal('password=…');
  });

  it('leaves out a first line that the kubelet has cut, whatever its letters', () => {
    const log = `tial error\n${'█'.repeat(700)}\nfailed to load`;
    expect(findCause(log)).to.equal('failed to load');
  });

  it('is cut at the end of a word', () => {
    const cause = findCause(`ValueError: ${'word '.repeat(100)}\n${'word '.repeat(100)}`)!;
    expect(cause).to.match(/ word …$/);
    expect(cause.length).to.be.at.most(802);
  });
});
