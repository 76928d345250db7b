/** A program that stands in for llama-server and vllm: it answers its health check and chats, and tells how it was called. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCE = `#!${process.execPath}
const { createServer } = require('node:http');
const args = process.argv.slice(2).join(' ').replace(/(--[a-z-]+)=/g, '$1 ').split(' ');
const read = (...flags) => args[args.findIndex((word) => flags.includes(word)) + 1];
console.log('called with ' + process.argv.slice(2).join(' '));
createServer((req, res) => {
  res.setHeader('content-type', 'application/json');
  res.end(JSON.stringify(req.url === '/health' ? { status: 'ok' } : {
    id: 'x', object: 'chat.completion', created: 1, model: read('--alias', '--served-model-name'),
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello from an engine' } }],
    usage: { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 },
  }));
}).listen(Number(read('--port')), read('--host'));
process.on('SIGTERM', () => process.exit(0));
`;

/** Into a folder for PATH. */
export const writeFakeEngine = (folder: string, program: 'llama-server' | 'vllm'): void =>
  writeFileSync(join(folder, program), SOURCE, { mode: 0o755 });
