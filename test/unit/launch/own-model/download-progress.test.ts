import { expect } from 'chai';
import { DownloadProgress } from '../../../../launch/own-model/download-progress.ts';

const GIB = 1024 ** 3;

function start(isTTY: boolean) {
  const lines: string[] = [];
  let now = 0;
  const output = { isTTY, write: (text: string) => lines.push(text) };
  const progress = new DownloadProgress(4 * GIB, output, () => now);
  const add = (bytes: number, at: number) => {
    now = at;
    progress.add(bytes);
  };
  const addPresent = (bytes: number, at: number) => {
    now = at;
    progress.addPresent(bytes);
  };
  return { lines, add, addPresent, end: () => progress.end() };
}

describe('the progress of a download', () => {
  it('tells speed and remaining time, by what came now and not in an earlier attempt', () => {
    const { lines, add, addPresent } = start(false);
    addPresent(GIB, 0);
    addPresent(GIB / 2, 10_000);
    add(GIB / 2, 20_000);
    add(GIB, 30_000);
    expect(lines).to.deep.equal([
      'checking what is there: 25 % of 4.00 GiB\n',
      'checking what is there: 37 % of 4.00 GiB\n',
      'downloading: 50 % of 4.00 GiB\n',
      'downloading: 75 % of 4.00 GiB, 102.4 MiB/s, 10 s left\n',
    ]);
  });

  it('is a line from time to time in a log', () => {
    const { lines, add } = start(false);
    for (let second = 0; second <= 20; second++) add(1, second * 1_000);
    expect(lines).to.have.length(3);
  });

  it('is one line that changes in a terminal, and ends it', () => {
    const { lines, add, end } = start(true);
    add(GIB, 0);
    add(3 * GIB, 100);
    end();
    expect(lines.join('')).to.match(/^\rdownloading: 25 % [^\n]*\rdownloading: 100 % of 4\.00 GiB[^\n]*\n$/);
  });
});
