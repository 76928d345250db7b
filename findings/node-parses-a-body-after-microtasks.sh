#!/usr/bin/env bash
# Node 24.21.0 and 20.20.2: a server's handler of a POST whose head and body came in one packet, and in one read of the socket.
# One would expect: the handler runs while the parser is in the middle of what was read, so once the handler awaits anything, the parser ends
#   first, and `req.complete` is true, with the body in `req.read()`; at the latest after `process.nextTick`.
# What happens: microtasks and next ticks run between the head and the body, before the parser goes on. Only in the next phase of the loop
#   (`setImmediate`) is the body there. A gateway that takes small bodies without listeners has to wait for that; one `await` is not enough.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > server.mjs <<'JS'
import { createServer } from 'node:http';
import { connect } from 'node:net';
const body = 'x'.repeat(900);
const server = createServer(async (req, res) => {
  const seen = { 'at once': req.complete };
  await undefined;
  seen['after a microtask'] = req.complete;
  await new Promise((resolve) => process.nextTick(resolve));
  seen['after a next tick'] = req.complete;
  await new Promise((resolve) => setImmediate(resolve));
  seen['after an immediate'] = req.complete && req.read()?.length === body.length;
  for (const [when, isComplete] of Object.entries(seen)) console.log(`${when}: ${isComplete ? 'complete' : 'not there'}`);
  res.end();
});
server.listen(0, '127.0.0.1', () => {
  const client = connect(server.address().port, '127.0.0.1', () =>
    client.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
  );
  client.on('data', () => {
    client.destroy();
    server.close();
  });
});
JS
for version in 20.20.2 24.21.0; do
  mkdir "node-$version"
  (cd "node-$version" && echo '{"private":true}' > package.json && npm install --silent --no-audit --no-fund "node@$version")
  echo "v$version"
  "node-$version/node_modules/.bin/node" server.mjs
done | tee output
diff output - <<'OUTPUT'
v20.20.2
at once: not there
after a microtask: not there
after a next tick: not there
after an immediate: complete
v24.21.0
at once: not there
after a microtask: not there
after a next tick: not there
after an immediate: complete
OUTPUT
