import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { openBodyMemory } from '../../../../gateway/http/body-memory.ts';
import { type JsonBody, type Parties, parsingTurns } from '../../../../gateway/http/body-parsing.ts';
import { Exchange } from '../../../../gateway/http/exchange.ts';
import { readJsonBody } from '../../../../gateway/http/json-body.ts';
import { listen, readServerPort } from '../../../../kit/http-server.ts';
import type { Steps } from '../../../../kit/loop-turns.ts';
import { rejection } from '../../../support/redis-client.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

function* waitFor(event: Promise<void>): Steps<void> {
  yield event;
}

describe('a JSON body', () => {
  const limits = { jsonBodyBytes: 160 * MIB, bodyTimeoutMs: 60_000 };
  const roomy = () => openBodyMemory(300 * MIB, 0);
  const open = (announced?: number) => {
    const req = new PassThrough({ highWaterMark: 8 * MIB });
    const headers = announced === undefined ? {} : { 'content-length': String(announced) };
    Object.assign(req, { headers });
    const res = new EventEmitter() as ServerResponse;
    const exchange = new Exchange(req as unknown as IncomingMessage, res, 'id');
    return { req, state: { exchange, keyHash: 'key', tenant: 'team' } };
  };
  const read = async (text: string, { memory = roomy(), interpret = () => 'parsed' } = {}) => {
    const { req, state } = open(text.length);
    req.end(text);
    return readJsonBody(state, { limits, memory, interpret });
  };
  const nest = (levels: number) =>
    `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)},"x":"${'x'.repeat(17 * KIB)}"}`;

  it('is invalid where it is nested deeper than 128 levels', async () => {
    expect(await read(nest(128))).to.equal('parsed');
    expect(await rejection(read(nest(129)))).to.include({ code: 'invalid_json', status: 400 });
  });

  it('is invalid where it is nested too deeply to be written again, however short it is', async () => {
    const deep = `{"query":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    expect(await rejection(read(deep))).to.include({ code: 'invalid_json', status: 400 });
  });

  it('has all of its bytes, however many pieces they come in', async () => {
    const { req, state } = open();
    const reading = Promise.resolve(
      readJsonBody(state, { limits, memory: roomy(), interpret: ({ value }) => value.text }),
    );
    const text = 'é'.repeat(20_000);
    for (const byte of Buffer.from(JSON.stringify({ text }))) req.write(Uint8Array.of(byte));
    req.end();
    expect(await reading).to.equal(text);
  });

  it('is judged before it is parsed, which would find what is wrong at its end', async () => {
    const deep = await rejection(read(`${nest(129)}nonsense`));
    expect(String(deep)).to.contain('nested deeper than 128 levels');
    const dear = await rejection(read(`{"a":[${'{},'.repeat(800_000)}nonsense`));
    expect(dear).to.include({ code: 'request_too_large', status: 413 });
  });

  it('is too large as soon as its length is known where memory would never have room for it', async () => {
    const memory = openBodyMemory(3 * MIB, 60_000);
    const { state } = open(2 * MIB + 1);
    const refused = async () => readJsonBody(state, { limits, memory, interpret: () => 'parsed' });
    const error = await rejection(refused());
    expect(error).to.include({ code: 'request_too_large', status: 413 });
  });

  it('is to be sent again in 5 s where memory has no room for it in time', async () => {
    const memory = openBodyMemory(3 * MIB, 0);
    memory.open('team').tryAdd(2 * MIB);
    const error = await rejection(read(`{"x":"${'x'.repeat(MIB)}"}`, { memory }));
    expect(error).to.include({ code: 'temporarily_unavailable', status: 503 });
    expect(error).to.have.nested.property('details.retryAfter', 5);
  });

  it('leaves turns of the event loop to others while it is parsed, whatever its shape', async () => {
    const shapes = {
      objects: `{"x":[${'{},'.repeat(100_000)}{}]}`,
      escapes: `{"x":"${'\\n'.repeat(MIB)}"}`,
    };
    for (const [shape, text] of Object.entries(shapes)) {
      let turns = 0;
      let isOver = false;
      const count = () => {
        turns++;
        if (!isOver) setImmediate(count);
      };
      const { req, state } = open(text.length);
      const interpret = ({ value }: JsonBody) => expect(JSON.stringify(value)).to.equal(text);
      const reading = readJsonBody(state, { limits, memory: roomy(), interpret });
      setImmediate(count);
      req.end(text);
      await reading;
      isOver = true;
      expect(turns, shape).to.be.above(10);
    }
  });

  it('is not parsed further once its client has left', async () => {
    const text = `{"x":[${'{},'.repeat(200_000)}{}]}`;
    const { req, state } = open(text.length);
    let isInterpreted = false;
    const interpret = () => {
      isInterpreted = true;
    };
    const reading = readJsonBody(state, { limits, memory: roomy(), interpret });
    req.on('end', () => setImmediate(() => state.exchange.res.emit('close')));
    req.end(text);
    expect(await rejection(Promise.resolve(reading))).to.include({ code: 'client_disconnected' });
    expect(isInterpreted).to.equal(false);
  });

  it('is not parsed once its client has left while it waited for its turn', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const text = `{"x":"${'x'.repeat(5 * KIB)}"}`;
    const { req, state } = open();
    void parsingTurns.run('team', waitFor(promise));
    let isInterpreted = false;
    const interpret = () => {
      isInterpreted = true;
    };
    const reading = rejection(Promise.resolve(readJsonBody(state, { limits, memory: roomy(), interpret })));
    req.end(text);
    await once(req, 'end');
    state.exchange.res.emit('close');
    resolve();
    expect(await reading).to.include({ code: 'client_disconnected' });
    expect(isInterpreted).to.equal(false);
  });

  describe('that comes with its head over HTTP', () => {
    const serve = async (onRequest: (state: Parties) => unknown): Promise<Server> => {
      const server = createServer((req, res) => {
        const exchange = new Exchange(req, res, 'id');
        void Promise.resolve(onRequest({ exchange, keyHash: 'key', tenant: 'team' })).then((text) =>
          res.end(String(text)),
        );
      });
      await listen(server, 0, '127.0.0.1');
      return server;
    };
    const post = async (server: Server, body: string) => {
      const headers = { 'content-type': 'application/json' };
      const url = `http://127.0.0.1:${readServerPort(server)}`;
      return (await fetch(url, { method: 'POST', headers, body })).text();
    };

    it('waits for no turn where it is small, whatever its tenant has used', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const server = await serve((state) =>
        readJsonBody(state, { limits, interpret: ({ raw }) => raw.length }),
      );
      void parsingTurns.run('team', waitFor(promise));
      let isLargerRead = false;
      const larger = post(server, JSON.stringify({ text: 'x'.repeat(5_000) })).finally(() => {
        isLargerRead = true;
      });
      for (let count = 0; count < 3; count++) expect(await post(server, '{}')).to.equal('2');
      expect(isLargerRead).to.equal(false);
      resolve();
      expect(await larger).to.equal('5011');
      server.close();
    });

    it('needs neither listeners nor a deadline where it is small', async () => {
      let listeners = -1;
      const server = await serve((state) => {
        const { req } = state.exchange;
        const before = req.listenerCount('data') + req.listenerCount('end');
        const reading = readJsonBody(state, { limits, interpret: () => 'read' });
        listeners = req.listenerCount('data') + req.listenerCount('end') - before;
        return reading;
      });
      expect(await post(server, '{}')).to.equal('read');
      expect(listeners).to.equal(0);
      server.close();
    });
  });

  it('waits for bodies of its own tenant, not for those of others', async () => {
    const text = `{"x":[${'{},'.repeat(50_000)}{}]}`;
    const order: string[] = [];
    const send = (tenant: string, body: string) => {
      const { req, state } = open(body.length);
      req.end(body);
      return readJsonBody(
        { ...state, tenant },
        {
          limits,
          memory: roomy(),
          interpret: () => order.push(tenant),
        },
      );
    };
    const honest = `{"x":"${'x'.repeat(MIB)}"}`;
    const expensive = [1, 2, 3, 4].map(() => send('expensive', text));
    await Promise.all([...expensive, send('honest', honest)]);
    expect(order).to.deep.equal(['honest', ...expensive.map(() => 'expensive')]);
  });
});
