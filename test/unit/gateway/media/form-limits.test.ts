import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { Exchange } from '../../../../gateway/http/exchange.ts';
import { readForm } from '../../../../gateway/media/multipart.ts';
import type { Spool } from '../../../../gateway/storage/spool.ts';
import { rejection } from '../../../support/redis-client.ts';

const limits = {
  fileBytes: 1_000,
  multipartBodyBytes: 1_000_000,
  uploadTimeoutMs: 60_000,
  promptCharacters: 10,
};
const FIELDS = { texts: new Set(['prompt']), files: new Map([['image', 1]]) };

describe('a form', () => {
  const read = (...parts: string[]) => {
    const req = new PassThrough();
    Object.assign(req, { headers: { 'content-type': 'multipart/form-data; boundary=XX' } });
    req.end(`${parts.join('')}--XX--\r\n`);
    const exchange = new Exchange(
      req as unknown as IncomingMessage,
      new EventEmitter() as ServerResponse,
      'id',
    );
    return readForm(exchange, FIELDS, { limits, spool: {} as Spool, tenant: 'team' });
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

  it('holds no more of a text than the prompt may have characters, of four bytes each', async () => {
    expect((await read(part('prompt', '😀'.repeat(10)))).texts.get('prompt')).to.equal('😀'.repeat(10));
    const error = await rejection(read(part('prompt', 'x'.repeat(50))));
    expect(error).to.include({ code: 'request_too_large', status: 413 });
  });
});
