// A receiver for Berth's webhooks in Node.js, without dependencies:  SIGNING_SECRET=whsec_… node receiver.mjs
import { createHmac, timingSafeEqual } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';

const OLDEST_SECONDS = 300;

/** `body`: the raw bytes, not what a JSON parser made of them. */
export function verify(header, body, secret, now = Date.now() / 1000) {
  // Two signatures while a rolled secret overlaps with the previous one: either may match.
  const match = /^t=(\d{1,12})((?:,v1=[0-9a-f]{64}){1,2})$/.exec(header ?? '');
  if (!match) return false;
  const [, time, signatures] = match;
  if (Math.abs(now - Number(time)) > OLDEST_SECONDS) return false;
  const wanted = createHmac('sha256', secret).update(`${time}.`).update(body).digest();
  return signatures
    .split(',v1=')
    .slice(1)
    .some((signature) => timingSafeEqual(wanted, Buffer.from(signature, 'hex')));
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (!verify(request.headers['x-service-signature'], body, process.env.SIGNING_SECRET)) {
    response.writeHead(401).end();
    return;
  }
  // Respond first, process later: attempts time out after 5 seconds. Use the event's id to detect duplicates.
  response.writeHead(204).end();
  const event = JSON.parse(body);
  console.log(event.type, event.id, event.data?.id ?? '');
});

// import.meta.main requires Node 24; in older versions the receiver would exit silently.
if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  server.listen(Number(process.env.PORT ?? 4000), process.env.HOST ?? '127.0.0.1', () =>
    console.log(`http://${server.address().address}:${server.address().port}/`),
  );
