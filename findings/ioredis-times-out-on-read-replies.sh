#!/usr/bin/env bash
# ioredis 6.0.0, commandTimeout and socketTimeout, on Node.js.
# One would expect: the two bound how long Redis may take. A reply that is in the socket's buffer in time is a reply.
# What happens: both are plain timers. When the process stands still for longer, as with a long task or on a busy machine, Node
# runs them before it reads the socket: each command in flight fails, and socketTimeout closes the connection as well, although Redis replied within a millisecond. The next command on a new connection is served at once.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund ioredis@6.0.0
cat > server.mjs <<'JS'
// Replies to each command at once, in a thread of its own.
import { createServer } from 'node:net';
import { parentPort } from 'node:worker_threads';
const server = createServer((socket) => socket.on('error', () => {}).on('data', () => {
  parentPort.postMessage(Date.now());
  socket.write('+PONG\r\n');
}));
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
JS
cat > try.mjs <<'JS'
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Redis } from 'ioredis';
const server = new Worker('./server.mjs');
const [port] = await once(server, 'message');
async function ask(name, options) {
  const redis = new Redis({ port, protocol: 2, disableClientInfo: true, enableReadyCheck: false, maxRetriesPerRequest: 0,
    enableOfflineQueue: false, ...options });
  redis.on('error', () => {});
  await once(redis, 'ready');
  let closed = 0;
  redis.on('close', () => closed++);
  const replied = once(server, 'message');
  const sent = Date.now();
  const reply = redis.ping().then((text) => text, (error) => error.message);
  while (Date.now() < sent + 500);
  const text = await reply;
  const [at] = await replied;
  await new Promise((resolve) => setTimeout(resolve, 50));
  console.log(`${name}: Redis replied ${at - sent < 100 ? 'within 100 ms' : 'late'}; the command: ${text}; connections closed: ${closed}`);
  redis.disconnect();
}
await ask('no time-out', {});
await ask('commandTimeout 200', { commandTimeout: 200 });
await ask('socketTimeout 200', { socketTimeout: 200 });
await server.terminate();
JS
node try.mjs | tee output
diff output - <<'TEXT'
no time-out: Redis replied within 100 ms; the command: PONG; connections closed: 0
commandTimeout 200: Redis replied within 100 ms; the command: Command timed out; connections closed: 0
socketTimeout 200: Redis replied within 100 ms; the command: Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest" option for details.; connections closed: 1
TEXT
