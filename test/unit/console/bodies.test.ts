import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { bodies } from '../../../console/bodies.ts';
import { check, readBody } from '../../../console/server/http/bodies.ts';

describe("the bodies of the console's API", () => {
  const open = (text: string) => {
    const body = new PassThrough();
    body.write(text);
    return Object.assign(body, { headers: { 'content-type': 'application/json' } });
  };
  const read = (body: PassThrough, timeoutMs: number) =>
    readBody(body as unknown as IncomingMessage, bodies.newKey, timeoutMs);

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

  it('are invalid where they are nested too deeply to be written again', async () => {
    const body = open(`{"manifest":${'['.repeat(5_000)}${']'.repeat(5_000)}}`);
    body.end();
    const error = await readBody(body as unknown as IncomingMessage, bodies.manifest).catch((error) => error);
    expect(error).to.include({ code: 'invalid_json' });
    expect(error.message).to.contain('nested deeper than 128 levels');
  });

  it('name no end of a key that has passed', () => {
    expect(() => check({ name: 'app', expiresAt: '2001-01-01T00:00:00Z' }, bodies.newKey)).to.throw(
      'expiresAt: must be in the future',
    );
    expect(check({ name: 'app', expiresAt: '2999-01-01T00:00:00Z' }, bodies.newKey)).to.have.property(
      'expiresAt',
    );
  });
});
