import { expect } from 'chai';
import { findDecisiveLine } from '../../../cli/deployment/decisive-line.ts';

const find = (log: string) => findDecisiveLine(log.split('\n'));

describe('the line of a log that says why a program ended', () => {
  it("is llama.cpp's error rather than its notes before and after", () => {
    const log = `main: security: no API key is set and CORS allows all origins
gguf_init_from_file: failed to open GGUF file '/models/x.gguf' (No such file or directory)
srv    load_model: failed to load model, '/models/x.gguf'
main: exiting due to model loading error`;
    expect(find(log)).to.match(/^gguf_init_from_file: failed to open GGUF file/);
  });

  it("is the exception that others follow from, not vLLM's pointer to it", () => {
    const log = `INFO 11-29 12:00:01 [core.py:77] Initializing a V1 LLM engine
Traceback (most recent call last):
  File "worker.py", line 1, in load
    raise ValueError("too long")
(EngineCore pid=7) ValueError: the KV cache holds 1024 tokens, less than max_model_len 32768
RuntimeError: Engine core initialization failed. See root cause above.`;
    expect(find(log)).to.equal(
      '(EngineCore pid=7) ValueError: the KV cache holds 1024 tokens, less than max_model_len 32768',
    );
  });

  it('is the last line of a log without problems, and none of an empty one', () => {
    expect(find('loading\n0 errors, 100 % done\n\n')).to.equal('0 errors, 100 % done');
    expect(find('\n')).to.equal(undefined);
  });
});
