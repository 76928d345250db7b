import { Readable } from 'node:stream';
import { expect } from 'chai';
import { callTimeout, readEndpointJSON } from '../../../console/server/endpoints/answer.ts';
import type { EndpointAnswer } from '../../../console/server/endpoints/endpoints.ts';

const MAX_BYTES = 256 * 1024;
/** JSON of this size, in chunks as a connection delivers them. */
const bodyOf = (bytes: number) => {
  const text = Buffer.from(JSON.stringify({ id: 'x'.repeat(bytes - '{"id":""}'.length) }));
  const chunks = Array.from({ length: Math.ceil(bytes / 65_536) }, (_, i) =>
    text.subarray(i * 65_536, (i + 1) * 65_536),
  );
  return Readable.from(chunks, { objectMode: false });
};

describe('the answer of an endpoint that the console reads itself', () => {
  const read = (body: Readable) => readEndpointJSON({ body } as unknown as Pick<EndpointAnswer, 'body'>);

  it('may be as large as any record', async () => {
    expect(await read(bodyOf(MAX_BYTES))).to.have.property('id');
  });

  it('is none where it is larger, and is not read to its end', async () => {
    const body = bodyOf(MAX_BYTES + 1);
    expect(await read(body)).to.deep.equal({});
    expect(body.destroyed).to.equal(true);
    let sent = 0;
    const endless = Readable.from(
      (function* () {
        for (; sent < 1_000; sent++) yield Buffer.alloc(65_536, ' ');
      })(),
    );
    expect(await read(endless)).to.deep.equal({});
    expect(sent).to.be.below(50);
  });

  it('is awaited for 30 s', () => {
    const { timeout } = AbortSignal;
    const asked: number[] = [];
    AbortSignal.timeout = (milliseconds) => {
      asked.push(milliseconds);
      return new AbortController().signal;
    };
    try {
      callTimeout();
    } finally {
      AbortSignal.timeout = timeout;
    }
    expect(asked).to.deep.equal([30_000]);
  });
});
