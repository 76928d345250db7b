import { Readable } from 'node:stream';
import { expect } from 'chai';
import { readLogLines } from '../../../kube/pod-log.ts';

async function read(...chunks: string[]): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readLogLines(Readable.from(chunks.map((chunk) => Buffer.from(chunk)))))
    lines.push(line);
  return lines;
}

describe("a container's log", () => {
  it('is read in lines, however they arrive, the last one without an end as well', async () => {
    expect(await read('one\ntw', 'o\n\nthree')).to.deep.equal(['one', 'two', '', 'three']);
    expect(await read('one\n')).to.deep.equal(['one']);
  });

  it('is cut where a line has no end', async () => {
    const piece = 'x'.repeat(64 * 1024);
    expect(await read(piece, 'y\n')).to.deep.equal([piece, 'y']);
  });
});
