// What tsc leaves to do: it copies no assets, and bundles nothing.
import { cpSync, existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { build } from 'vite';
import { bundleConnection } from './bundle-connection.ts';
import { bundleGateway } from './bundle-gateway.ts';

// The Lua library travels beside its loader, the console's page beside its server.
for (const folder of ['redis/functions']) {
  if (existsSync(folder)) cpSync(folder, `dist/${folder}`, { recursive: true });
}

await bundleConnection('dist/kube/connection.js', 'dist/kube/connection.js');
await bundleGateway('dist/gateway/main.js', 'dist/gateway');

await build({
  configFile: 'console/web/vite.config.ts',
  logLevel: 'warn',
  build: { outDir: resolve('dist/console/web/dist') },
});
