/** Serves the built page: the HTML file with a new nonce each time, and static files. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Middleware } from 'koa';
import { ConsoleError } from '../http/error.ts';
import { buildContentPolicy } from '../http/security-headers.ts';
import type { ConsoleState } from '../sessions/request-guards.ts';
import { HASHED, readPageFiles, sendPageFile } from './files.ts';

const NONCE_PLACE = '__CSP_NONCE__';
const NONCE_BYTES = 16;

/** Throws if the page was not built. */
export function servePage(folder: string, { plainHTTP }: { plainHTTP: boolean }): Middleware<ConsoleState> {
  const path = join(folder, 'index.html');
  let html: string;
  try {
    html = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Error(`${path} is missing: the page was not built`, { cause });
  }
  const files = readPageFiles(folder);

  return async (ctx) => {
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      ctx.set('allow', 'GET, HEAD');
      throw new ConsoleError('method_not_allowed', 'The page is read-only.');
    }
    const isPage = ctx.path === '/' || ctx.path.endsWith('.html');
    if (!isPage && sendPageFile(ctx, files)) return;
    // A missing file must not return the page.
    if (HASHED.test(ctx.path)) {
      ctx.status = 404;
      ctx.body = 'not found';
      return;
    }
    const nonce = randomBytes(NONCE_BYTES).toString('base64');
    const { isHTTPS } = ctx.state.origin;
    ctx.set('content-security-policy', buildContentPolicy({ nonce, plainMedia: plainHTTP || !isHTTPS }));
    ctx.set('cache-control', 'no-store');
    ctx.type = 'text/html; charset=utf-8';
    ctx.body = html.replaceAll(NONCE_PLACE, nonce);
  };
}
