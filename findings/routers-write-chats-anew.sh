#!/usr/bin/env bash
# vllm-router 0.1.17 and sglang-router 0.3.2 between a client and an engine.
# One would expect: the engine gets the body that the client sent, and a 429 with `Retry-After` is the client's to obey.
# What happens: both parse the body into types of their own, and send what these hold. Each chat gets eight or nine defaults.
#   vllm-router loses `strict` of tools, `continuous_usage_stats` and the description of a JSON schema; of embeddings, unknown members.
#   sglang-router loses unknown members of chats, too (`cache_salt`, `priority`, `structured_outputs`), and adds `temperature: 1.0` and
#   `top_p: 1.0` to responses. Both ask the engine five times within half a second in spite of `Retry-After: 30`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet vllm-router==0.1.17 sglang-router==0.3.2
cat > "$folder/probe.mjs" <<'JS'
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
let status = 200;
let seen = [];
const engine = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  if (request.method === 'POST') seen.push({ at: performance.now(), body });
  response.writeHead(request.method === 'POST' ? status : 200, { 'content-type': 'application/json', 'retry-after': '30' });
  const choices = [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }];
  response.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices }));
});
await new Promise((resolve) => engine.listen(0, '127.0.0.1', resolve));
const tool = { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true };
const plain = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };
const extra = { cache_salt: 's', priority: 3, structured_outputs: { regex: 'a+' } };
const rich = {
  ...plain, ...extra, stream: true, tools: [{ type: 'function', function: tool }],
  stream_options: { include_usage: true, continuous_usage_stats: true },
  response_format: { type: 'json_schema', json_schema: { name: 'n', description: 'about', schema: { type: 'object' } } },
};
for (const [index, [program, ...first]] of [['vllm-router'], ['sglang-router', 'launch']].entries()) {
  const port = 18_470 + 2 * index;
  const router = spawn(`${import.meta.dirname}/bin/${program}`, [
    ...first, '--host=127.0.0.1', `--port=${port}`, '--prometheus-host=127.0.0.1', `--prometheus-port=${port + 1}`,
    '--policy=round_robin', '--log-level=error', '--worker-startup-check-interval=1',
    '--worker-urls', `http://127.0.0.1:${engine.address().port}`,
  ], { stdio: 'ignore' });
  const post = (path, body) => fetch(`http://127.0.0.1:${port}/v1/${path}`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body),
  });
  status = 200;
  while (!(await post('chat/completions', plain).catch(() => undefined))?.ok) await new Promise((resolve) => setTimeout(resolve, 500));
  for (const [path, body] of [['chat/completions', rich], ['responses', { model: 'm', input: 'Hi', ...extra }], ['embeddings', { model: 'm', input: 'Hi', ...extra }]]) {
    await (await post(path, body)).text();
    console.log(`${program} ${path}\n  sent ${JSON.stringify(body)}\n  got  ${seen.at(-1).body}`);
  }
  status = 429;
  seen = [];
  await post('chat/completions', plain);
  console.log(`${program}: asked ${seen.length} times within ${Math.round(seen.at(-1).at - seen[0].at)} ms`);
  router.kill('SIGKILL');
}
process.exit();
JS
node "$folder/probe.mjs"
