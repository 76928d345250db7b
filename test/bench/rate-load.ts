/**
 * Requests at a fixed RATE a second for SECONDS, whether or not earlier ones were answered, over as many connections as that
 * takes. Prints one line of JSON: the time from when each was written to its answer's last byte.
 */
import { connect, type Socket } from 'node:net';
import { request, url } from './chat-request.ts';
import { listSlowest, percentile } from './statistics.ts';

const rate = Number(process.env.RATE);
const seconds = Number(process.env.SECONDS);

const idle: Socket[] = [];
const latencies: number[] = [];
let errors = 0;
let open = 0;

/** Whether the response is complete: by its declared length, or its last chunk. */
function isWhole(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd < 0) return false;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd));
  return length ? text.length >= headEnd + 4 + Number(length[1]) : text.endsWith('0\r\n\r\n');
}

/** Connections that were closed while idle are not errors. */
function takeIdle(): Socket | undefined {
  let socket = idle.pop();
  while (socket?.destroyed) socket = idle.pop();
  return socket;
}

function send(): void {
  const start = performance.now();
  const socket = takeIdle() ?? connect(Number(url.port), url.hostname).setNoDelay(true);
  let text = '';
  open++;
  const onData = (data: Buffer) => {
    text += data.toString('latin1');
    if (!isWhole(text)) return;
    latencies.push(performance.now() - start);
    if (!text.startsWith('HTTP/1.1 200')) errors++;
    end();
    idle.push(socket);
  };
  const onClose = () => {
    errors++;
    end();
  };
  const end = () => {
    open--;
    socket.off('data', onData).off('close', onClose);
  };
  socket.on('data', onData).on('close', onClose);
  if (socket.listenerCount('error') === 0) socket.on('error', () => {});
  socket.write(request);
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const begin = performance.now();
let sent = 0;
while (sent < rate * seconds) {
  const dueBy = Math.min(rate * seconds, ((performance.now() - begin) / 1_000) * rate);
  for (; sent < dueBy; sent++) send();
  await pause(1);
}
for (let waited = 0; open > 0 && waited < 2_000; waited += 10) await pause(10);
for (const socket of idle) socket.destroy();

console.log(
  `JSON ${JSON.stringify({
    requests: latencies.length,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    slowest: listSlowest(latencies),
    errors: errors + open,
  })}`,
);
process.exit(0);
