/** The built page as the console serves it. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import Koa from 'koa';
import { answerErrors } from '../../../console/server/error-responses.ts';
import { servePage } from '../../../console/server/page/page.ts';
import type { ConsoleState } from '../../../console/server/sessions/request-guards.ts';

describe("the console's built files", () => {
  const SCRIPT = '/assets/index-abc.js';
  let folder: string;
  let server: Server;
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { method, headers });

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'berth-page-'));
    mkdirSync(join(folder, 'assets'));
    writeFileSync(join(folder, 'index.html'), '<meta content="__CSP_NONCE__">');
    writeFileSync(join(folder, 'icon.svg'), '<svg/>');
    writeFileSync(join(folder, SCRIPT), 'plain');
    writeFileSync(join(folder, `${SCRIPT}.br`), 'brotli');
    writeFileSync(join(folder, `${SCRIPT}.gz`), 'gzip');
    const app = new Koa<ConsoleState>();
    app.use(async (ctx, next) => {
      ctx.state.origin = { isHTTPS: false } as ConsoleState['origin'];
      await next();
    });
    app.use(answerErrors(undefined as never, undefined as never));
    app.use(servePage(folder, { plainHTTP: false }));
    server = app.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('are served on when the folder is gone', async () => {
    rmSync(folder, { recursive: true });
    for (const path of [SCRIPT, '/icon.svg', '/']) {
      const answer = await get(path, { 'accept-encoding': 'identity' });
      expect([path, answer.status]).to.deep.equal([path, 200]);
      await answer.arrayBuffer();
    }
  });

  // Only headers are checked: fetch cannot read a body that is not compressed as its header claims.
  for (const [accepted, encoding, length] of [
    ['gzip, deflate, br', 'br', '6'],
    ['gzip', 'gzip', '4'],
    ['br;q=0, gzip', 'gzip', '4'],
    ['identity', null, '5'],
  ] as const)
    it(`are ${encoding ?? 'not'} compressed for one who takes ${accepted}`, async () => {
      const { headers } = await get(SCRIPT, { 'accept-encoding': accepted }, 'HEAD');
      expect([headers.get('content-encoding'), headers.get('content-length')]).to.deep.equal([
        encoding,
        length,
      ]);
      expect(headers.get('content-type')).to.equal('text/javascript; charset=utf-8');
      expect(headers.get('vary')).to.equal('Accept-Encoding');
      expect(headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
    });

  it('are not sent again to one who has them', async () => {
    const first = await get('/icon.svg');
    expect([first.headers.get('content-type'), await first.text()]).to.deep.equal([
      'image/svg+xml',
      '<svg/>',
    ]);
    expect(first.headers.get('cache-control')).to.equal('no-cache');
    // Otherwise fetch sends `no-cache`.
    const known = { 'if-none-match': first.headers.get('etag')!, 'cache-control': 'max-age=0' };
    const again = await get('/icon.svg', known);
    expect([again.status, await again.text()]).to.deep.equal([304, '']);
  });

  for (const path of ['/assets/index-gone.js', '/assets/', '/assets/..%2ficon.svg', `${SCRIPT}.br`])
    it(`are no others: ${path} is not there`, async () => {
      expect((await get(path)).status).to.equal(404);
    });
});
