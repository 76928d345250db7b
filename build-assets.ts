// tsc copies no assets: the Lua library travels beside its loader, the console's page beside its server.
import { cpSync, existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { build } from 'vite';

for (const folder of ['redis/functions']) {
  if (existsSync(folder)) cpSync(folder, `dist/${folder}`, { recursive: true });
}

await build({
  configFile: 'console/web/vite.config.ts',
  logLevel: 'warn',
  build: { outDir: resolve('dist/console/web/dist') },
});
