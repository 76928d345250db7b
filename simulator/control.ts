/** The control port: reads and changes the engine's behavior at run time. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Engine } from './engine.ts';
import { EngineError } from './errors.ts';
import { parseJSON, readBody } from './request-body.ts';
import { parseSettings } from './settings.ts';

const MAX_BODY_BYTES = 1024 * 1024;

/** Answers one request of the control port. */
export async function serveControl(
  engine: Engine,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  response.on('error', () => {});
  try {
    if (readPath(request) !== '/control')
      throw new EngineError(404, 'not_found_error', 'The control port serves /control only.');
    await change(engine, request);
    send(response, 200, write(engine));
  } catch (error) {
    if (response.destroyed) return;
    const refusal = error instanceof EngineError ? error : refuseControl(String(error));
    if (refusal.status === 405) response.setHeader('allow', 'GET, PUT, DELETE');
    if (refusal.status === 413) response.setHeader('connection', 'close');
    send(response, refusal.status, JSON.stringify(refusal.toBody()));
  }
}

export const readPath = (request: IncomingMessage): string => request.url!.split('?', 1)[0]!;

async function change(engine: Engine, request: IncomingMessage): Promise<void> {
  switch (request.method) {
    case 'GET':
      return;
    case 'PUT':
      return mergeSettings(engine, await readBody(request, MAX_BODY_BYTES));
    case 'DELETE':
      engine.settings.reset();
      engine.activity.reset();
      return;
    default:
      throw new EngineError(405, 'invalid_request_error', '/control takes GET, PUT and DELETE.');
  }
}

function mergeSettings(engine: Engine, bytes: Buffer): void {
  const body = parseJSON(bytes);
  if (!body.ok) throw refuseControl(`the settings must be a JSON object: ${body.problem}`);
  const parsed = parseSettings(body.value);
  if (!parsed.ok)
    throw refuseControl(
      parsed.problems.map(({ message }) => message).join('; '),
      parsed.problems[0]!.field || null,
    );
  engine.settings.merge(parsed.patch);
}

const refuseControl = (message: string, param: string | null = null): EngineError =>
  new EngineError(400, 'invalid_request_error', message, param);

function write(engine: Engine): string {
  const state = describe(engine);
  try {
    return JSON.stringify(state);
  } catch {
    // A body may be nested more deeply than can be written.
    return JSON.stringify({ ...state, last: { ...engine.activity.last, body: 'nested too deeply to show' } });
  }
}

const describe = ({ settings, activity }: Engine): object => ({
  settings: settings.current,
  inflight: activity.inflight,
  requests: activity.requests,
  aborted: activity.aborted,
  last: activity.last,
  recent: activity.recent,
});

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
