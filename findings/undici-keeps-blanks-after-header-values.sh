#!/usr/bin/env bash
# undici 8.12.4 and the fetch of Node.js 24, beside node:http of the same Node.js.
# One would expect: blanks around the value of a header are not part of it (RFC 9110, 5.5), so all three clients give the same value;
# the values of a Headers object are trimmed by the standard of fetch, too.
# What happens: node:http trims on both sides. undici and fetch trim in front alone: `content-type: application/json  ` is
# "application/json  " with both blanks, so a comparison with "application/json" fails; and the length of a body is the text "2 ".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund undici@8.12.4
cat > try.mjs <<'JS'
import { once } from 'node:events';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { request } from 'undici';
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type:  application/json  \r\ncontent-length: 2 \r\nconnection: close\r\n\r\n';
const server = createServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(`${HEAD}{}`)));
await once(server.listen(0, '127.0.0.1'), 'listening');
const url = `http://127.0.0.1:${server.address().port}/`;
const show = (client, type, length) => console.log(client, JSON.stringify([type, length]));
const [plain] = await once(get(url), 'response');
plain.resume();
show('node:http', plain.headers['content-type'], plain.headers['content-length']);
const { headers, body } = await request(url);
await body.dump();
show('undici', headers['content-type'], headers['content-length']);
const response = await fetch(url);
await response.text();
show('fetch', response.headers.get('content-type'), response.headers.get('content-length'));
show('new Headers', new Headers({ 'content-type': ' application/json  ' }).get('content-type'), '');
server.close();
JS
output=$(node try.mjs)
echo "$output"
diff <(echo "$output") - <<'SEEN'
node:http ["application/json","2"]
undici ["application/json  ","2 "]
fetch ["application/json  ","2 "]
new Headers ["application/json",""]
SEEN
