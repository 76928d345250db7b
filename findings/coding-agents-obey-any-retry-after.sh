#!/usr/bin/env bash
# Codex 0.171.0 and opencode 1.18.33 at a 429 with a long Retry-After, as for a limit of a day.
# One would expect: they show the message of the error, as they do when a deployment refuses them, or wait a minute or two at most.
#   Claude Code 2.1.332 shows it after one request.
# What happens: both take the time as it is. With `Retry-After: 7200` they send one request, and show neither the message nor that
#   they wait for two hours; `x-should-retry: false` changes nothing. The script stops each after a minute.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private":true}' > package.json
npm install --silent --no-audit --no-fund @openai/codex@0.171.0 opencode-ai@1.18.33 @anthropic-ai/claude-code@2.1.332
cat > server.mjs <<'JS'
// Refuses each POST; one port per client, whose requests it counts in a file.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
const clients = ['claude', 'codex', 'opencode'];
for (const client of clients) {
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume();
    if (request.method !== 'POST') return response.writeHead(404).end();
    writeFileSync(`${client}.count`, String(++requests));
    const headers = { 'content-type': 'application/json', 'retry-after': '7200', 'x-should-retry': 'false' };
    const message = 'The tokens of the day are used up.';
    const error = { type: request.url.includes('/messages') ? 'rate_limit_error' : 'rate_limit_exceeded', message };
    response.writeHead(429, headers).end(JSON.stringify({ type: 'error', error }));
  });
  server.listen(0, '127.0.0.1', () => writeFileSync(`${client}.port`, String(server.address().port)));
}
JS
node server.mjs &
server=$!
until [ -s claude.port ] && [ -s codex.port ] && [ -s opencode.port ]; do sleep 0.2; done
mkdir -p home/.codex home/.config/opencode work
cat > home/.codex/config.toml <<TOML
model = "m"
model_provider = "p"
check_for_update_on_startup = false
[model_providers.p]
name = "P"
base_url = "http://127.0.0.1:$(cat codex.port)/v1"
env_key = "API_KEY"
wire_api = "responses"
[analytics]
enabled = false
[features]
apps = false
plugins = false
TOML
cat > home/.config/opencode/opencode.json <<JSON
{ "model": "p/m", "small_model": "p/m", "autoupdate": false, "share": "disabled", "provider": { "p": { "npm": "@ai-sdk/openai-compatible",
  "options": { "baseURL": "http://127.0.0.1:$(cat opencode.port)/v1", "apiKey": "k" }, "models": { "m": { "limit": { "context": 65536, "output": 8192 } } } } } }
JSON
# The agents start more than a minute's worth of work on a busy machine: each has as long as the first request takes, and a minute more.
ask() {
  local name=$1; shift
  (cd work && exec env -i PATH="$PATH" HOME="$folder/home" TERM=dumb API_KEY=k ANTHROPIC_BASE_URL="http://127.0.0.1:$(cat ../claude.port)" \
    ANTHROPIC_AUTH_TOKEN=k ANTHROPIC_MODEL=m CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 "$@") > "$name.out" 2>&1 < /dev/null &
  local pid=$!
  for _ in $(seq 600); do [ -s "$name.count" ] && break; sleep 0.2; done
  for _ in $(seq 300); do kill -0 $pid 2>/dev/null || break; sleep 0.2; done
  local state=ended
  if kill -0 $pid 2>/dev/null; then state='still waiting after a minute'; kill $pid; fi
  wait $pid 2>/dev/null || true
  local shown=no
  grep -q 'tokens of the day' "$name.out" && shown=yes
  echo "$name: $(cat "$name.count") request, $state, message shown: $shown" >> output
}
bin="$folder/node_modules/.bin"
ask claude "$bin/claude" --print Hi
ask codex "$bin/codex" exec --skip-git-repo-check Hi
ask opencode "$bin/opencode" run --title T Hi
cat output
diff output - <<'TEXT'
claude: 1 request, ended, message shown: yes
codex: 1 request, still waiting after a minute, message shown: no
opencode: 1 request, still waiting after a minute, message shown: no
TEXT
