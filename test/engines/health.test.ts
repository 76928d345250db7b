/**
 * What gateways see of a real engine in hard situations, and what they conclude. Each is recorded and evaluated; with RECORD=1 it
 * takes the place of the recording that the unit tests judge.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import {
  checkTrace,
  SITUATIONS,
  type Situation,
  writeRecordedTrace,
} from '../support/health-traces/recorded-trace.ts';
import { pollUntil } from '../support/poll.ts';
import type { Fields } from './answers.ts';
import { readEngine } from './catalog.ts';
import { listEngineProcesses } from './engine-processes.ts';
import { HealthRecorder } from './health-recorder.ts';
import { type ServedModel, serveModel } from './served-model.ts';

const { name, engine } = readEngine();
const RECORDED_MS = 40_000;
/** Beyond the minute after which a silent engine is unready. */
const STOPPED_MS = 90_000;
const START_TIMEOUT_MS = 480_000;
const PLACES = 8;
const BUSY_PROGRAMS_PER_CORE = 4;
const ALL = /(?:)/;

const talk = (max_tokens: number, words = 1): Fields => ({
  messages: [{ role: 'user', content: 'hello '.repeat(words) }],
  max_tokens,
  ignore_eos: true,
});

describe(`the health of ${name}`, function () {
  this.timeout(900_000);
  let served: ServedModel;
  let recorder: HealthRecorder;
  before(async () => {
    served = await serveModel(name);
  });
  after(() => served?.stop());

  const open = () => new HealthRecorder(new URL(served.engine.baseURL).origin, served.engine.model);
  const openHealthy = async () => {
    const opened = open();
    await opened.untilHealthy(START_TIMEOUT_MS);
    return opened;
  };
  const conclude = (situation: Situation, { lines } = recorder) => {
    checkTrace({ situation, lines });
    const date = new Date().toISOString().slice(0, 10);
    if (process.env.RECORD)
      writeRecordedTrace({ engine: name, version: engine.version, date, situation, lines });
  };
  /** Runs `action` while clients send these requests. */
  const amid = async (bodies: readonly Fields[], action: () => Promise<void>) => {
    const leaving = new AbortController();
    const clients = bodies.map((body) => recorder.ask(body, leaving.signal));
    try {
      await action();
    } finally {
      leaving.abort();
      await Promise.all(clients);
    }
  };
  afterEach(() => recorder?.stop());

  it(`is right when it ${SITUATIONS.saturated}`, async () => {
    recorder = await openHealthy();
    const long = Array.from({ length: 3 * PLACES }, (_, index) =>
      talk(200, Math.floor((engine.context! / 60) * (1 + (index % 4)))),
    );
    await amid(long, () => recorder.last(RECORDED_MS));
    conclude('saturated');
  });

  it(`is right when it ${SITUATIONS.starved}`, async () => {
    recorder = await openHealthy();
    const programs = keepCoresBusy();
    try {
      await amid([talk(100), talk(100)], () => recorder.last(RECORDED_MS));
    } finally {
      for (const program of programs) program.kill('SIGKILL');
    }
    conclude('starved');
  });

  it(`is right when it ${SITUATIONS.stopped}`, async () => {
    recorder = await openHealthy();
    await amid([talk(100)], async () => {
      await recorder.last(2_000);
      served.signal('SIGSTOP', ALL);
      recorder.note('SIGSTOP');
      try {
        await recorder.last(STOPPED_MS);
      } finally {
        recorder.note('SIGCONT');
        served.signal('SIGCONT', ALL);
      }
      await recorder.last(RECORDED_MS);
    });
    conclude('stopped');
  });

  it(`is right when it ${SITUATIONS.killed}, and when it ${SITUATIONS.starting}`, async () => {
    recorder = await openHealthy();
    let starting: HealthRecorder | undefined;
    const address = new URL(served.engine.baseURL).hostname;
    await amid([talk(100)], async () => {
      await recorder.last(2_000);
      recorder.note('SIGKILL');
      // Repeatedly, since an engine that restarts within a second could be missed between two probes.
      await pollUntil(() => {
        if (recorder.lines.some((line) => /refused/.test(line))) return true;
        if (listEngineProcesses(address).length > 0) served.signal('SIGKILL', ALL);
        return false;
      }, 'a refused connection');
      await recorder.last(3_000);
      // A new gateway without earlier observations.
      starting = open();
      await starting.untilHealthy(START_TIMEOUT_MS);
      await recorder.untilHealthy(START_TIMEOUT_MS);
      await recorder.last(10_000);
    }).finally(() => starting?.stop());
    conclude('killed');
    conclude('starting', starting!);
  });
});

const BUSY = 'for (;;);';

const keepCoresBusy = (): ChildProcess[] =>
  Array.from({ length: BUSY_PROGRAMS_PER_CORE * availableParallelism() }, () =>
    spawn(process.execPath, ['-e', BUSY], { stdio: 'ignore' }),
  );
