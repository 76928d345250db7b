/** Receives webhooks: never responds to paths with `hang`, and counts all others. */
import { createServer } from 'node:http';

const counts = { received: 0, lastMs: 0 };

createServer((req, res) => {
  if (req.url === '/counts') {
    res.end(JSON.stringify(counts));
    return;
  }
  if (req.url!.includes('hang')) return;
  counts.received++;
  counts.lastMs = performance.timeOrigin + performance.now();
  req.resume();
  res.writeHead(204).end();
}).listen(Number(process.env.PORT), '127.0.0.1');
