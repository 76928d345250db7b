import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

const KIT = new URL('../../../kit/program.ts', import.meta.url).href;
const PROMPT = 'a castle in the rain';
const KEY = 'sk-live-0123456789abcdef';
const SECRETS = `{ prompt: '${PROMPT}', command: { args: ['${PROMPT}', '${KEY}'] } }`;

/** What a program of these statements prints, and its exit code. */
function run(statements: string): Promise<{ code: unknown; output: string }> {
  const source = `import { exitOnFatalErrors } from '${KIT}'; exitOnFatalErrors('tried'); ${statements}`;
  return new Promise((resolve) => {
    execFile(process.execPath, ['--input-type=module', '-e', source], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    );
  });
}

describe('an error that nothing caught', () => {
  const failures = {
    'is thrown in a timer': `setTimeout(() => { throw Object.assign(new Error('no ${KEY}'), ${SECRETS}); });`,
    'is a rejection': `Promise.reject(Object.assign(new TypeError('no ${KEY}'), ${SECRETS}));`,
    'is a rejection with something else than an Error': `Promise.reject(${SECRETS});`,
    'is thrown at the start': `throw Object.assign(new Error('no ${KEY}'), ${SECRETS});`,
  };
  for (const [how, statements] of Object.entries(failures))
    it(`ends the program with one line of its log without secrets where it ${how}`, async () => {
      const { code, output } = await run(`setInterval(() => {}, 1000); ${statements}`);
      expect(code).to.equal(1);
      expect(output).to.not.include(PROMPT).and.not.include(KEY);
      const { program, level, message, err } = JSON.parse(output);
      expect({ program, level, message }).to.deep.equal({
        program: 'tried',
        level: 60,
        message: 'uncaught error, exiting',
      });
      expect(err).to.include.keys('type', 'message');
    });

  for (const file of globSync('{gateway,operator,console/server}/{main,uninstall-guard}.ts'))
    it(`is met so by ${file}`, () => {
      expect(readFileSync(file, 'utf8')).to.match(/^(exitOnFatalErrors|runProgram)\('/m);
    });
});
