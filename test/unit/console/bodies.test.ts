import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { check, newKeyBody, readBody } from '../../../console/server/http/bodies.ts';

describe("the bodies of the console's API", () => {
  const open = (text: string) => {
    const body = new PassThrough();
    body.write(text);
    return Object.assign(body, { headers: { 'content-type': 'application/json' } });
  };
  const read = (body: PassThrough, timeoutMs: number) =>
    readBody(body as unknown as IncomingMessage, newKeyBody, timeoutMs);

  it('are given up when they do not arrive in time', async () => {
    const error = await read(open('{"name":'), 5).catch((error) => error);
    expect(error).to.include({ code: 'request_timeout' });
  });

  it('are read when they arrive in pieces', async () => {
    const body = open('{"name":');
    const reading = read(body, 10_000);
    body.end('"app"}');
    expect(await reading).to.deep.equal({ name: 'app' });
  });

  it('name no end of a key that has passed', () => {
    expect(() => check({ name: 'app', expiresAt: '2001-01-01T00:00:00Z' }, newKeyBody)).to.throw(
      'expiresAt: must be in the future',
    );
    expect(check({ name: 'app', expiresAt: '2999-01-01T00:00:00Z' }, newKeyBody)).to.have.property(
      'expiresAt',
    );
  });
});
