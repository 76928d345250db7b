/** The baseline `floor`: node:http and undici dispatch without any feature. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type Dispatcher, Pool } from 'undici';

const pool = new Pool(process.env.ENGINE_URL!, {
  connections: 512,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
});
const FORWARDED = ['content-type', 'content-length', 'cache-control'];

class Relay implements Dispatcher.DispatchHandler {
  readonly response: ServerResponse;
  constructor(response: ServerResponse) {
    this.response = response;
  }
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.response.on('close', () => {
      if (!this.response.writableFinished) controller.abort(new Error('client gone'));
    });
  }
  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    const kept = FORWARDED.filter((name) => headers[name]).map((name) => [name, headers[name]]);
    this.response.writeHead(status, Object.fromEntries(kept));
  }
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.response.write(chunk)) return;
    controller.pause();
    this.response.once('drain', () => controller.resume());
  }
  onResponseEnd(): void {
    this.response.end();
  }
  onResponseError(): void {
    if (!this.response.headersSent) this.response.writeHead(502);
    this.response.end();
  }
}

createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('error', () => {});
  request.on('end', () => {
    const body = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
    pool.dispatch({ path: request.url!, method: 'POST', body, headers }, new Relay(response));
  });
}).listen(Number(process.env.PORT), '127.0.0.1', 1024);
