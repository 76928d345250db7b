/** Host names under which the console serves. Pages need neither Redis nor an API server, so there are none. */
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { pino } from 'pino';
import { CONSOLE_ENV } from '../../../api/console-environment.ts';
import { readEnvironment } from '../../../console/server/environment.ts';
import { type RunningConsole, startConsole } from '../../../console/server/program.ts';
import { writePage } from '../../support/page-fixture.ts';

describe('the names under which the console serves', () => {
  let folder: string;
  let console: RunningConsole;
  let lines: string[];

  const start = async (listensOn: string, publicURL = '') => {
    lines = [];
    const env = readEnvironment({
      [CONSOLE_ENV.host]: listensOn,
      [CONSOLE_ENV.port]: '0',
      [CONSOLE_ENV.metricsPort]: '0',
      [CONSOLE_ENV.webFolder]: join(folder, 'web'),
      [CONSOLE_ENV.kubernetesURL]: 'http://127.0.0.1:1',
      [CONSOLE_ENV.redisURL]: 'redis://127.0.0.1:1',
      [CONSOLE_ENV.publicURL]: publicURL,
    });
    console = await startConsole(env, pino({}, { write: (line: string) => void lines.push(line) }));
  };
  const get = (path: string, host: string) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const call = request(
        { port: console.port, host: '127.0.0.1', path, headers: { host } },
        async (answer) => {
          const chunks = await answer.toArray();
          resolve({ status: answer.statusCode!, text: Buffer.concat(chunks).toString() });
        },
      );
      call.on('error', reject);
      call.end();
    });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-console-'));
    writePage(folder);
  });
  afterEach(async () => {
    await console.stop();
    rmSync(folder, { recursive: true });
  });

  for (const path of ['/', '/team/keys', '/assets/index-abc123.js', '/api/session'])
    it(`are none of another site's on one's own machine: ${path}`, async () => {
      await start('127.0.0.1');
      const { status, text } = await get(path, 'rebound.example:8196');
      const { code, message } = JSON.parse(text).error;
      expect([status, code]).to.deep.equal([421, 'unknown_host']);
      expect(message).to.include('"rebound.example:8196"').and.include('localhost');
    });

  for (const host of ['localhost:8196', '127.0.0.1', '[::1]:8196', 'berth.localhost'])
    it(`are those of one's own machine there: ${host}`, async () => {
      await start('127.0.0.1');
      expect((await get('/', host)).status).to.equal(200);
      expect(lines.join('')).not.to.include('any name');
    });

  it('are any elsewhere, which is logged once', async () => {
    await start('0.0.0.0');
    for (const host of ['one.example', 'two.example']) expect((await get('/', host)).status).to.equal(200);
    expect(lines.filter((line) => line.includes(`${CONSOLE_ENV.publicURL} is not set`))).to.have.length(1);
  });

  it('are any with a public URL, which no other name changes', async () => {
    await start('0.0.0.0', 'https://console.example.com');
    expect((await get('/', 'other.example')).status).to.equal(200);
    expect(lines.join('')).not.to.include('is not set');
  });
});
