import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { HeldAnswer } from '../../../../gateway/front/held-answer.ts';
import { type ProxyOptions, proxyRequest } from '../../../../gateway/front/proxy.ts';
import { ReplicaPicker } from '../../../../gateway/front/replica-picker.ts';
import { SilenceWatch } from '../../../../gateway/front/silence-watch.ts';
import { formatErrorEvent } from '../../../../gateway/http/error-event.ts';
import { EventStream } from '../../../../gateway/http/event-stream.ts';
import { Exchange } from '../../../../gateway/http/exchange.ts';
import { Pools } from '../../../../gateway/upstream/pools.ts';
import { parseStream } from '../../../support/parsed-events.ts';

const LOOPBACK = '127.0.0.1';
const frame = (text: string) => `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`;
const STREAM = Buffer.from(`${frame('a')}${frame('größe\n\n')}: ping\n\n${frame('c')}`);

describe('the stream of a replica that is lost', () => {
  let servers: Server[];
  let pools: Pools;
  beforeEach(() => {
    servers = [];
    pools = new Pools();
  });
  afterEach(async () => {
    await pools.destroy();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  const serve = async (listener: Parameters<typeof createServer>[1]): Promise<number> => {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
    return (server.address() as AddressInfo).port;
  };
  /** A replica that sends as many bytes of a stream as the path says, in two pieces, and is gone. */
  const startReplica = (bytes: Buffer) =>
    serve((req, res) => {
      const length = Number(req.url!.slice(1));
      res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      const end = () => res.destroy();
      const half = Math.floor(length / 2);
      if (length === 0) setImmediate(end);
      else
        res.write(bytes.subarray(0, half + 1), () =>
          res.write(bytes.subarray(half + 1, length), () => setImmediate(end)),
        );
    });
  /** A front, in whose streams to held requests some comment has been sent. */
  const startFront = (replicaPort: number, isHeld: boolean) =>
    serve(async (req, res) => {
      const exchange = new Exchange(req, res, 'id');
      const options: ProxyOptions = {
        pools,
        picker: new ReplicaPicker(),
        silence: new SilenceWatch(async () => true),
        replicaPort,
      };
      const request = { exchange, addresses: [LOOPBACK] };
      if (!isHeld) return void proxyRequest(options, request);
      exchange.stream = new EventStream(res, []);
      const answer = new HeldAnswer({ exchange, isRepeatable: true, onPass: () => {} });
      await proxyRequest(options, { ...request, answer });
      if (answer.failure && !res.destroyed) exchange.stream.end(formatErrorEvent(answer.failure, exchange));
    });

  for (const isHeld of [false, true])
    it(`ends with an error event after whole events, wherever it was cut${isHeld ? ', after a hold' : ''}`, async () => {
      const front = await startFront(await startReplica(STREAM), isHeld);
      const whole = parseStream(STREAM.toString()).events;
      const check = async (length: number) => {
        const response = await fetch(`http://${LOOPBACK}:${front}/${length}`);
        const { events } = parseStream(await response.text());
        const last = JSON.parse(events.pop()!.data);
        expect(last.error, `${length} bytes`).to.include({ code: 'upstream_error' });
        expect(whole.slice(0, events.length), `${length} bytes`).to.deep.equal(events);
      };
      await Promise.all(Array.from({ length: STREAM.length + 1 }, (_, length) => check(length)));
    });

  for (const isHeld of [false, true])
    it(`breaks the connection after part of an event that is too long to be kept${isHeld ? ', after a hold' : ''}`, async () => {
      const long = Buffer.from(frame('a') + frame('ö'.repeat(300_000)) + frame('b'));
      const front = await startFront(await startReplica(long), isHeld);
      const read = async (length: number) => (await fetch(`http://${LOOPBACK}:${front}/${length}`)).text();
      const cut = await read(500_000).catch(() => 'broken');
      expect(cut.slice(-200)).to.equal('broken');
      const { events } = parseStream(await read(long.length));
      expect(events.map(({ data }) => JSON.parse(data).choices?.[0].delta.content.length)).to.deep.equal([
        1,
        300_000,
        1,
        undefined,
      ]);
    });
});
