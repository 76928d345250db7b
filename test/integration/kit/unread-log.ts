/** A program that writes more lines than a pipe holds, reports that it still runs, and ends on request. */
import { openLog } from '../../../kit/log.ts';

const log = openLog({ level: 'info', base: {} });
const lines = Number(process.argv[2]);
for (let line = 0; line < lines; line++) log.info({ line, text: 'x'.repeat(1_000) }, 'request');
process.on('message', () => process.exit(0));
process.send!('goes on');
