/** The simulator's two servers: the engine's port and, if asked for, the control port. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isAdapterPath, serveAdapters } from './adapters.ts';
import { Call } from './call.ts';
import { readPath, serveControl } from './control.ts';
import { Engine, type EngineOptions } from './engine.ts';
import { refuseLoading, refuseRoute } from './errors.ts';
import { checkFilms } from './films.ts';
import { checkHealth, sendMetrics } from './health.ts';
import { answerFailure, INFERENCE_ROUTES, serveInference } from './inference.ts';
import type { Personality } from './personality.ts';
import { isSleepPath, serveSleep } from './sleep.ts';
import { describeInfo } from './tei.ts';
import { describeTokenizer } from './tokenizer.ts';
import { readVideoPath, serveVideo } from './videos.ts';

export interface Listener {
  host: string;
  /** 0 takes a free one. */
  port: number;
}

export interface SimulatorOptions extends EngineOptions {
  listen: Listener;
  /** Null: there is no control port. */
  control: Listener | null;
}

export interface Simulator {
  url: string;
  controlURL: string | null;
  /** Accepts no more calls, lets those in flight finish within this time, then aborts them; at once for 0, whatever its behavior. */
  stop(graceMs: number): Promise<void>;
}

/** Longer than clients keep idle connections, so that they never send into one that we close. */
const KEEP_ALIVE_MS = 75_000;
const IDLE_SWEEP_MS = 50;
/** An engine that aborts is gone by then. */
const ABORT_MS = 200;
const GRACE_MS: Record<Personality['atSIGTERM'], (graceMs: number) => number> = {
  finish: (graceMs) => graceMs,
  // It has waited before it closes the port.
  'serve-on': () => 0,
  abort: (graceMs) => Math.min(graceMs, ABORT_MS),
  hang: () => Number.POSITIVE_INFINITY,
};

/** Rejects when an address cannot be bound, and for videos without a program that makes them. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  if (options.kind === 'Video') await checkFilms();
  const engine = new Engine(options);
  const main = await listen(createListener(engine), options.listen);
  const control =
    options.control &&
    (await listen((request, response) => void serveControl(engine, request, response), options.control).catch(
      async (error) => {
        await close(main, 0);
        throw error;
      },
    ));
  return {
    url: readURL(main),
    controlURL: control && readURL(control),
    stop: async (graceMs) => {
      const { atSIGTERM } = engine.personality;
      if (atSIGTERM === 'abort' || atSIGTERM === 'hang') engine.stopping.abort();
      if (atSIGTERM === 'serve-on') await drain(engine, graceMs);
      await close(main, graceMs === 0 ? 0 : GRACE_MS[atSIGTERM](graceMs));
      await engine.jobs.stop();
      if (control) await close(control, 0);
    },
  };
}

function createListener(engine: Engine): RequestListener {
  return (request, response) => {
    const path = readPath(request);
    const isInference = request.method === 'POST' && INFERENCE_ROUTES.has(path);
    const { activity } = engine;
    const release = isInference ? activity.enter() : () => {};
    const call = new Call(request, response, {
      describeError: (error) =>
        engine.personality.text?.describeError(error, path) ??
        (INFERENCE_ROUTES.get(path)?.describeError ?? engine.personality.describeError)(error),
      onClose: (isAborted) => {
        release();
        if (isInference && isAborted) activity.aborted++;
      },
    });
    if (isInference)
      serveInference({ engine, call, path, release }).catch((error) => answerFailure(call, error));
    else serveRest(engine, call, path);
  };
}

function serveRest(engine: Engine, call: Call, path: string): void {
  const video = readVideoPath(path);
  const serve = READS.get(path);
  if (engine.options.hasAdapters && isAdapterPath(path))
    void serveAdapters(engine, call, path).catch((error) => answerFailure(call, error));
  else if (engine.options.sleepMode && isSleepPath(path))
    void serveSleep(engine, call, path).catch((error) => answerFailure(call, error));
  else if (video) serveVideo(engine, call, video);
  else if (!serve || (path === INFO && engine.personality.tokenRoutes !== 'tei'))
    call.sendRefusal(refuseRoute(INFERENCE_ROUTES.has(path) ? 405 : 404));
  else if (call.request.method === 'GET') serve(engine, call);
  else call.sendRefusal(refuseRoute(405));
}

/** TEI's alone. */
const INFO = '/info';

const READS = new Map<string, (engine: Engine, call: Call) => void>([
  ['/health', (engine, call) => void checkHealth(engine, call).catch((error) => answerFailure(call, error))],
  ['/metrics', (engine, call) => void sendMetrics(engine, call).catch((error) => answerFailure(call, error))],
  [INFO, (engine, call) => call.sendJSON(200, describeInfo(engine.options))],
  [
    '/tokenizer_info',
    ({ options: { kind }, personality, settings }, call) => {
      const { contextTokens } = settings.current;
      if (TOKENIZED.has(kind) && personality.tokenRoutes !== 'tei')
        call.sendJSON(200, describeTokenizer(contextTokens));
      else call.sendRefusal(refuseRoute(404));
    },
  ],
  [
    '/v1/models',
    (engine, call) => {
      const models = listModels(engine);
      if (engine.isLoaded) call.sendJSON(200, engine.personality.answers?.dressBody(models) ?? models);
      else call.sendRefusal(refuseLoading());
    },
  ],
]);

const listModels = ({ options: { model, kind }, created, settings, adapters }: Engine): object => ({
  object: 'list',
  data: [
    {
      id: model,
      object: 'model',
      created,
      owned_by: 'simulator',
      root: model,
      parent: null,
      ...(TOKENIZED.has(kind) && { max_model_len: settings.current.contextTokens }),
    },
    ...[...adapters].map(([id, root]) => ({
      id,
      object: 'model',
      created,
      owned_by: 'simulator',
      root,
      parent: model,
    })),
  ],
});

const TOKENIZED: ReadonlySet<string> = new Set(['LLM', 'Embedding', 'Rerank']);

function listen(listener: RequestListener, { host, port }: Listener): Promise<Server> {
  const server = createServer({ noDelay: true, keepAliveTimeout: KEEP_ALIVE_MS }, listener);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve(server);
    });
  });
}

function readURL(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/** Serves on until it looks while nothing is in flight, or the time is up. */
async function drain(engine: Engine, graceMs: number): Promise<void> {
  engine.isDraining = true;
  const end = performance.now() + graceMs;
  while (engine.activity.inflight > 0 && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, IDLE_SWEEP_MS));
}

/** Without end for an infinite grace. */
async function close(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // A kept connection becomes idle only when its call ends.
  const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS);
  if (graceMs === 0) server.closeAllConnections();
  const cut = graceMs < Number.POSITIVE_INFINITY && setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(sweep);
  if (cut) clearTimeout(cut);
}
