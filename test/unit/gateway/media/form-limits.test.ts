import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { openBodyMemory } from '../../../../gateway/http/body-memory.ts';
import { Exchange } from '../../../../gateway/http/exchange.ts';
import { readForm } from '../../../../gateway/media/multipart.ts';
import type { Spool } from '../../../../gateway/storage/spool.ts';
import { pollUntil } from '../../../support/poll.ts';
import { rejection } from '../../../support/redis-client.ts';

const limits = {
  fileBytes: 1_000,
  multipartBodyBytes: 1_000_000,
  uploadTimeoutMs: 60_000,
  promptCharacters: 10,
};
/** Discards all files. */
const spool = {
  hold: async (source: AsyncIterable<Buffer>) => {
    for await (const _ of source);
    return { path: '', bytes: 0, remove: async () => {} };
  },
} as unknown as Spool;
const FIELDS = { texts: new Set(['prompt']), files: new Map([['image', 1]]) };

describe('a form', () => {
  const open = (memory = openBodyMemory(3_000_000, 0)) => {
    const req = new PassThrough();
    Object.assign(req, { headers: { 'content-type': 'multipart/form-data; boundary=XX' } });
    const res = new EventEmitter() as ServerResponse;
    const exchange = new Exchange(req as unknown as IncomingMessage, res, 'id');
    const form = readForm({ exchange, keyHash: 'key', tenant: 'team' }, FIELDS, { limits, spool, memory });
    return { req, res, form };
  };
  const read = (...parts: string[]) => {
    const { req, form } = open();
    req.end(`${parts.join('')}--XX--\r\n`);
    return form;
  };
  const part = (name: string, text: string, more = '') =>
    `--XX\r\n${more}content-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;

  it('has at most 8 KiB of headers in a part: what comes after them is not read', async () => {
    const padding = (bytes: number) => `x-note: ${'x'.repeat(bytes)}\r\n`;
    const { texts } = await read(part('prompt', 'A ship', padding(8_000)));
    expect(texts.get('prompt')).to.equal('A ship');
    const error = await rejection(read(part('prompt', 'A ship', padding(8_200))));
    expect(error).to.include({ code: 'invalid_request_error', status: 400 });
  });

  it('has at most 100 fields', async () => {
    expect((await read(...Array(100).fill(part('x', '1')))).texts.size).to.equal(0);
    const error = await rejection(read(...Array(101).fill(part('x', '1'))));
    expect(error).to.include({ code: 'invalid_request_error', status: 400 });
  });

  it('has names of at most 100 characters', async () => {
    expect((await read(part('x'.repeat(100), '1'))).texts.size).to.equal(0);
    const file = (name: string) =>
      `--XX\r\ncontent-disposition: form-data; name="${name}"; filename="a"\r\n\r\n1\r\n`;
    for (const each of [part('x'.repeat(101), '1'), file('x'.repeat(101))])
      expect(await rejection(read(each))).to.include({ code: 'invalid_request_error', status: 400 });
  });

  it('holds no more of a text than the prompt may have characters, of four bytes each', async () => {
    expect((await read(part('prompt', '😀'.repeat(10)))).texts.get('prompt')).to.equal('😀'.repeat(10));
    const error = await rejection(read(part('prompt', 'x'.repeat(50))));
    expect(error).to.include({ code: 'request_too_large', status: 413 });
  });
  describe('in memory', () => {
    const TOTAL = 3_000_000;
    const create = () => openBodyMemory(TOTAL, 0);
    const longest = 'x'.repeat(40);

    it('takes room for its texts until it is answered', async () => {
      const memory = create();
      const { req, res, form } = open(memory);
      req.end(`${part('prompt', longest.slice(0, 10))}--XX--\r\n`);
      await form;
      expect(memory.used).to.be.above(0);
      res.emit('close');
      expect(memory.used).to.equal(0);
    });

    it('takes no room once it was refused', async () => {
      const memory = create();
      const { req, form } = open(memory);
      req.end('nothing of a form');
      await rejection(form);
      expect(memory.used).to.equal(0);
    });

    it('is to be sent again in 5 s where there is no room for its texts in time', async () => {
      const memory = create();
      memory.open('team').tryAdd((TOTAL * 2) / 3);
      const { req, form } = open(memory);
      req.end(`${part('prompt', 'A ship')}--XX--\r\n`);
      const error = await rejection(form);
      expect(error).to.include({ code: 'temporarily_unavailable', status: 503 });
      expect(error).to.have.nested.property('details.retryAfter', 5);
    });

    it('is read on when there is room', async () => {
      const memory = openBodyMemory(TOTAL, 60_000);
      const other = memory.open('team');
      other.tryAdd((TOTAL * 2) / 3);
      const { req, form } = open(memory);
      req.end(`${part('prompt', 'A ship')}--XX--\r\n`);
      setImmediate(() => other.release());
      expect((await form).texts.get('prompt')).to.equal('A ship');
    });

    it('takes the room of no more than one text for texts that are dropped, and none for files', async () => {
      const memory = create();
      const { req, form } = open(memory);
      const send = async (text: string) => {
        if (!req.write(text)) await new Promise((resolve) => req.once('drain', resolve));
      };
      for (let count = 0; count < 50; count++) await send(part('other', 'x'.repeat(5_000)));
      await send('--XX\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\n');
      for (let count = 0; count < 50; count++) await send('x'.repeat(5_000));
      req.end('\r\n--XX--\r\n');
      await form;
      // Chunks of up to 64 KiB, and texts of twice their length.
      expect(memory.used).to.be.within(5_000, 2 * 80_000);
    });

    it('takes room for every piece of a text that arrives in many', async () => {
      const memory = create();
      const { req, form } = open(memory);
      const ended = rejection(form);
      const send = (text: string) =>
        new Promise<void>((resolve) => req.write(text, () => setImmediate(resolve)));
      await send('--XX\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n');
      const before = memory.used;
      for (let count = 0; count < 30; count++) await send('x');
      // The form waits for its turns, longer on a busy machine.
      await pollUntil(() => memory.used - before > 30 * 32);
      req.end();
      await ended;
    });
  });
});
