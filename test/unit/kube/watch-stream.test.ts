import { Readable } from 'node:stream';
import { expect } from 'chai';
import { isTooLarge } from '../../../kube/api-error.ts';
import { readWatchEvents } from '../../../kube/watch-stream.ts';
import { rejection } from '../../support/redis-client.ts';

const MIB = 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
const lineOf = (name: string, note = '') =>
  `${JSON.stringify({ type: 'ADDED', object: { metadata: { name }, note } })}\n`;

describe('the events of a watch', () => {
  const read = async (text: string): Promise<string[]> => {
    const bytes = Buffer.from(text);
    const chunks = Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, i) =>
      bytes.subarray(i * CHUNK_BYTES, (i + 1) * CHUNK_BYTES),
    );
    const names = [];
    for await (const { object } of readWatchEvents<{ metadata: { name: string } }>(
      Readable.from(chunks, { objectMode: false }),
      'watch things',
    ))
      names.push(object.metadata.name);
    return names;
  };

  it('are read one by one, however they come', async () => {
    expect(await read(`${lineOf('a')}\n${lineOf('b', 'x'.repeat(100_000))}${lineOf('c')}`)).to.deep.equal([
      'a',
      'b',
      'c',
    ]);
  });

  it('may be as long as JSON makes the largest object', async () => {
    expect(await read(lineOf('a', 'x'.repeat(9.5 * MIB)) + lineOf('b'))).to.deep.equal(['a', 'b']);
  });

  it('are no longer than any object', async () => {
    expect(isTooLarge(await rejection(read(lineOf('a', 'x'.repeat(17 * MIB)))))).to.equal(true);
  });
});
