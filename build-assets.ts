// tsc copies no assets: the Lua library travels beside its loader.
import { cpSync, existsSync } from 'node:fs';

for (const folder of ['redis/functions']) {
  if (existsSync(folder)) cpSync(folder, `dist/${folder}`, { recursive: true });
}
