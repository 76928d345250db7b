import { expect } from 'chai';
import { EnvironmentError, readEnvironment } from '../../../simulator/environment.ts';
import { DEFAULT_SETTINGS } from '../../../simulator/settings.ts';

describe("the simulator's environment", () => {
  it('has a default for everything, and no control port', () => {
    expect(readEnvironment({})).to.deep.equal({
      listen: { host: '127.0.0.1', port: 8000 },
      control: null,
      model: 'simulator',
      kind: 'LLM',
      startupSeconds: 0,
      hasAdapters: false,
      sleepMode: false,
      settings: DEFAULT_SETTINGS,
    });
  });

  it('reads every variable', () => {
    const environment = readEnvironment({
      SIMULATOR_HOST: '0.0.0.0',
      SIMULATOR_PORT: '0',
      SIMULATOR_CONTROL_HOST: '::1',
      SIMULATOR_CONTROL_PORT: '9000',
      SIMULATOR_MODEL: 'org/model',
      SIMULATOR_KIND: 'Embedding',
      SIMULATOR_STARTUP_SECONDS: '1.5',
      SIMULATOR_ADAPTERS: '1',
      SIMULATOR_SLEEP_MODE: '1',
      SIMULATOR_TTFT_MS: '20.5',
      SIMULATOR_ITL_MS: '5',
      SIMULATOR_PREFILL_MS: '0.05',
      SIMULATOR_CACHE_TOKENS: '60000',
      SIMULATOR_CONTEXT_TOKENS: '32768',
      SIMULATOR_TOKENS: '100',
      SIMULATOR_JOB_SECONDS: '3',
      SIMULATOR_MAX_CONCURRENCY: '4',
      SIMULATOR_MAX_QUEUED: '7',
      SIMULATOR_DRAINING: 'true',
      SIMULATOR_PAUSED: 'true',
      SIMULATOR_LOOSE_TOOLS: 'true',
      SIMULATOR_HEALTHY: 'false',
      SIMULATOR_HEALTH_DELAY_MS: '2500',
      SIMULATOR_SLEEP_MS: '700',
      SIMULATOR_LIKE: 'sglang',
      SIMULATOR_FAULT: '{"kind":"drop","afterFrames":3}',
      SIMULATOR_FAULT_TIMES: '-1',
    });
    expect(environment).to.deep.equal({
      listen: { host: '0.0.0.0', port: 0 },
      control: { host: '::1', port: 9000 },
      model: 'org/model',
      kind: 'Embedding',
      startupSeconds: 1.5,
      hasAdapters: true,
      sleepMode: true,
      settings: {
        ttftMs: 20.5,
        itlMs: 5,
        prefillMs: 0.05,
        cacheTokens: 60_000,
        contextTokens: 32_768,
        tokens: 100,
        jobSeconds: 3,
        maxConcurrency: 4,
        maxQueued: 7,
        draining: true,
        paused: true,
        looseTools: true,
        healthy: false,
        healthDelayMs: 2_500,
        sleepMs: 700,
        like: 'sglang',
        fault: { kind: 'drop', afterFrames: 3 },
        faultTimes: -1,
      },
    });
  });

  it('takes an empty variable for an absent one', () => {
    expect(
      readEnvironment({ SIMULATOR_TTFT_MS: '', SIMULATOR_PORT: '', SIMULATOR_CONTROL_PORT: '' }),
    ).to.deep.equal(readEnvironment({}));
  });

  const bad: [env: Record<string, string>, message: string][] = [
    [
      { SIMULATOR_PORT: 'tcp://10.0.0.1:80' },
      'SIMULATOR_PORT must be a port from 0 to 65535; got "tcp://10.0.0.1:80"',
    ],
    [{ SIMULATOR_CONTROL_PORT: '70000' }, 'SIMULATOR_CONTROL_PORT must be a port'],
    [
      { SIMULATOR_KIND: 'Audio' },
      'SIMULATOR_KIND must be one of LLM, Embedding, Rerank, Image, Video, Transcription, Speech; got "Audio"',
    ],
    [{ SIMULATOR_STARTUP_SECONDS: '-1' }, 'SIMULATOR_STARTUP_SECONDS must be a number of seconds'],
    [{ SIMULATOR_TTFT_MS: '20ms' }, 'SIMULATOR_TTFT_MS must be a number of milliseconds'],
    [{ SIMULATOR_HEALTHY: 'yes' }, 'SIMULATOR_HEALTHY must be true or false; got "yes"'],
    [{ SIMULATOR_LIKE: 'ollama' }, 'SIMULATOR_LIKE must be null or one of vllm, sglang, tei'],
    [{ SIMULATOR_FAULT: '{"kind":' }, 'SIMULATOR_FAULT must be null or an object'],
    [{ SIMULATOR_FAULT: '{"kind":"boom"}' }, 'SIMULATOR_FAULT.kind must be one of'],
  ];
  for (const [env, message] of bad)
    it(`refuses ${JSON.stringify(env)}`, () => {
      expect(() => readEnvironment(env)).to.throw(EnvironmentError, message);
    });
});
