#!/usr/bin/env bash
# Expected: a Node server that passes a request's body on with undici, and whose upstream cannot be reached, answers 502, whatever
#   class its requests have: `http.createServer({ IncomingMessage })` takes a subclass.
# What happens: undici destroys the body that it could not send, and with it the client's connection, before the 502 is written. Only
#   where the request is of Node's own class does it take the socket from it first; it compares the constructor, so that a subclass
#   does not count. The client sees its connection closed instead of an answer.
# Versions: undici 8.12.4, Node 24.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-fund --no-audit undici@8.12.4 node@24 >/dev/null

cat >run.mjs <<'JS'
import { createServer, IncomingMessage, request as ask } from 'node:http';
import { createServer as listen } from 'node:net';
import { once } from 'node:events';
import { request } from 'undici';

class OwnMessage extends IncomingMessage {}

// A port on which nobody listens.
const free = listen().listen(0, '127.0.0.1');
await once(free, 'listening');
const { port: closed } = free.address();
free.close();

for (const [name, type] of [['IncomingMessage', IncomingMessage], ['a subclass', OwnMessage]]) {
  const server = createServer({ IncomingMessage: type }, async (req, res) => {
    await request(`http://127.0.0.1:${closed}/`, { method: 'POST', body: req }).catch(() => {});
    res.writeHead(502).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const seen = await new Promise((resolve) => {
    const client = ask({ host: '127.0.0.1', port: server.address().port, method: 'POST' }, (res) => resolve(res.statusCode));
    client.on('error', (error) => resolve(error.code));
    client.end('{}');
  });
  console.log(`${name}: ${seen}`);
  server.close();
}
JS

output=$(node_modules/.bin/node run.mjs)
echo "$output"
[ "$output" = "IncomingMessage: 502
a subclass: ECONNRESET" ]

# Seen:
# IncomingMessage: 502
# a subclass: ECONNRESET
