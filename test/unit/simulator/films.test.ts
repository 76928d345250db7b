import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeFilm } from '../../../simulator/films.ts';
import { drawPattern } from '../../../simulator/pictures.ts';

describe('making a video', () => {
  const { TMPDIR, HOME } = process.env;
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'films-test-'));
    process.env.TMPDIR = folder;
  });
  afterEach(async () => {
    for (const [name, value] of Object.entries({ TMPDIR, HOME }))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    await rm(folder, { recursive: true });
  });
  const make = async (signal = new AbortController().signal, frames = 3): Promise<Buffer> =>
    makeFilm({ picture: await drawPattern({ width: 32, height: 32 }, () => 0.5), frames, fps: 8 }, signal);

  it('leaves no file behind', async () => {
    expect((await make()).subarray(4, 8).toString()).to.equal('ftyp');
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('leaves no file behind when it is given up', async () => {
    const giving = new AbortController();
    const film = make(giving.signal, 3000).catch(() => 'given up');
    while ((await readdir(folder)).length === 0) await new Promise(setImmediate);
    giving.abort();
    expect(await film).to.equal('given up');
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('writes into the home where there is no other place', async () => {
    process.env.TMPDIR = '/proc';
    process.env.HOME = folder;
    expect((await make()).subarray(4, 8).toString()).to.equal('ftyp');
  });

  it('says what went wrong', async () => {
    const film = makeFilm({ picture: Buffer.from('none'), frames: 3, fps: 8 }, new AbortController().signal);
    expect(await film.catch((error: Error) => error.message)).to.contain('Invalid data');
  });
});
