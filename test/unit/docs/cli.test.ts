/** The documents of the command `berth`, held to its table of commands. */
import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { optionsOf, readCommandLine } from '../../../cli/framework/command-line.ts';
import { COMMAND_NAMES, COMMON_OPTIONS, describeCommand } from '../../../cli/framework/commands.ts';
import { EXIT_CODES } from '../../../cli/framework/failure.ts';

const PAGES = globSync(['README.md', 'docs/**/*.md', 'cli/README.md'], {
  exclude: (path) => path.includes('node_modules'),
});
const page = readFileSync('docs/cli.md', 'utf8');
const reference = page + readFileSync('docs/webhooks.md', 'utf8');

/** Options of other programs. */
const OTHERS = ['--global'];

/** What a shell would pass to `berth`, in blocks of code. */
function listCommands(path: string): string[][] {
  const blocks = readFileSync(path, 'utf8').match(/^```[\s\S]*?^```/gm) ?? [];
  const text = blocks.join('\n').replaceAll('\\\n', ' ');
  const commands = text.matchAll(/(?:^|[|(] ?|\$ )berth ((?:'[^']*'|[^'#|)>\n])*)/gm);
  return [...commands].map(([, words]) =>
    (words!.match(/'[^']*'|[^\s']+/g) ?? []).map((word) => word.replaceAll("'", '')),
  );
}

describe('the documents of berth', () => {
  it('have only commands that it accepts', () => {
    const commands = PAGES.flatMap((path) => listCommands(path).map((args) => ({ path, args })));
    expect(commands.length).to.be.above(20);
    for (const { path, args } of commands)
      expect(() => readCommandLine(args, ''), `${path}: berth ${args.join(' ')}`).not.to.throw();
  });

  it('list every command, and every option and no other', () => {
    for (const name of COMMAND_NAMES) expect(page).to.match(new RegExp(`^\\|.*\`(berth )?${name}[ \`]`, 'm'));
    const options = COMMAND_NAMES.flatMap((name) => Object.keys(optionsOf(describeCommand(name))));
    for (const option of options) expect(reference).to.include(`--${option}`);
    const allowed = new Set([...options.map((option) => `--${option}`), ...OTHERS]);
    const named = page.match(/(?<![\w-])--[a-z][a-z-]*/g)!;
    expect(named.filter((option) => !allowed.has(option))).to.deep.equal([]);
  });

  it('have the short options and the exit codes', () => {
    expect(page).to.include(`\`--namespace\` (\`-${COMMON_OPTIONS.namespace!.short}\`)`);
    const rows = page.matchAll(/^\| (\d+) \| `(\w+)` \|/gm);
    expect(Object.fromEntries([...rows].map(([, code, kind]) => [kind, Number(code)]))).to.deep.equal(
      EXIT_CODES,
    );
  });
});
