/** A built page as small as can be. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export function writePage(folder: string): void {
  const web = join(folder, 'web');
  mkdirSync(join(web, 'assets'), { recursive: true });
  writeFileSync(join(web, 'index.html'), '<!doctype html><meta name="csp-nonce" content="__CSP_NONCE__">');
  writeFileSync(join(web, 'assets', 'index-abc123.js'), 'console.log(1);');
}
