import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { BodyMemory } from '../../../../gateway/http/body-memory.ts';
import { Exchange } from '../../../../gateway/http/exchange.ts';
import { readJsonBody } from '../../../../gateway/http/json-body.ts';
import { rejection } from '../../../support/redis-client.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

describe('a JSON body', () => {
  const limits = { jsonBodyBytes: 160 * MIB, bodyTimeoutMs: 60_000 };
  const roomy = () => new BodyMemory({ totalBytes: 300 * MIB, waitMs: 0 });
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

  it('is judged before it is parsed, which would find what is wrong at its end', async () => {
    const deep = await rejection(read(`${nest(129)}nonsense`));
    expect(String(deep)).to.contain('nested deeper than 128 levels');
    const dear = await rejection(read(`{"a":[${'{},'.repeat(800_000)}nonsense`));
    expect(dear).to.include({ code: 'request_too_large', status: 413 });
  });

  it('is too large as soon as its length is known where memory would never have room for it', async () => {
    const memory = new BodyMemory({ totalBytes: 3 * MIB, waitMs: 60_000 });
    const { state } = open(2 * MIB + 1);
    const refused = async () => readJsonBody(state, { limits, memory, interpret: () => 'parsed' });
    const error = await rejection(refused());
    expect(error).to.include({ code: 'request_too_large', status: 413 });
  });

  it('is to be sent again in 5 s where memory has no room for it in time', async () => {
    const memory = new BodyMemory({ totalBytes: 3 * MIB, waitMs: 0 });
    memory.open('team').tryAdd(2 * MIB);
    const error = await rejection(read(`{"x":"${'x'.repeat(MIB)}"}`, { memory }));
    expect(error).to.include({ code: 'temporarily_unavailable', status: 503 });
    expect(error).to.have.nested.property('details.retryAfter', 5);
  });

  it('has a turn of the event loop of its own where it is over 1 MiB', async () => {
    let turn = 0;
    let isOver = false;
    const count = () => {
      turn++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const body = `{"x":"${'x'.repeat(MIB)}"}`;
    const bodies = Array.from({ length: 4 }, () => open(body.length));
    const turns: number[] = [];
    const readings = bodies.map(({ state }) =>
      readJsonBody(state, { limits, memory: roomy(), interpret: () => turns.push(turn) }),
    );
    for (const { req } of bodies) req.end(body);
    await Promise.all(readings);
    isOver = true;
    expect(new Set(turns).size, turns.join()).to.equal(4);
  });
});
