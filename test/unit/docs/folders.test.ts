import { globSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect } from 'chai';

const TOP = [
  'api',
  'kit',
  'kube',
  'redis',
  'operator',
  'gateway',
  'weights',
  'console',
  'simulator',
  'launch',
  'cli',
  'machine',
  'cluster',
  'tools',
  'test',
  'docs',
  'examples',
  'images',
  'charts/berth',
];
/** The table describes each of these as a whole, without its subfolders. */
const WHOLE = /^(cluster|console\/web|test|simulator)\//;

describe('the map of folders in docs/architecture.md', () => {
  const [, table = ''] = /## Folders\n[\s\S]*?(\| Folder[\s\S]*?)\n\n/.exec(
    readFileSync('docs/architecture.md', 'utf8'),
  )!;
  const rows = table.split('\n').slice(2);
  const nameOf = (folder: string) => `\`${folder.split('/').at(-1)}/\``;
  /** Named in full, by its last part in the row of its parent, or by a subfolder. */
  const isNamed = (folder: string): boolean =>
    rows.some((row) => {
      const parent = dirname(folder);
      const isOfParent =
        row.includes(`\`${parent}/\``) || row.includes(nameOf(parent)) || row.startsWith(`| \`${parent}/`);
      return (
        row.includes(`\`${folder}/\``) ||
        (parent === '.' ? row.startsWith(`| \`${folder}/`) : isOfParent && row.includes(nameOf(folder)))
      );
    });

  it('has every folder of sources', () => {
    const folders = globSync(
      '{api,kit,kube,redis,operator,gateway,weights,console,simulator,launch,cli,machine,cluster,tools}/**/*.{ts,tsx,lua}',
      {
        exclude: (path) => /node_modules|(^|\/)dist(\/|$)/.test(path),
      },
    ).map(dirname);
    const missing = [...new Set([...TOP, ...folders])].filter(
      (folder) => folder !== 'console' && !WHOLE.test(folder) && !isNamed(folder),
    );
    expect(missing).to.deep.equal([]);
  });

  it('has no folder that is gone', () => {
    const named = rows.flatMap((row) => {
      const folders = [...row.split('|')[1]!.matchAll(/`([\w./-]+)\/`/g)].map(([, folder]) => folder!);
      const parent = dirname(folders[0] ?? '');
      return folders.map((folder) =>
        folder.includes('/') || TOP.includes(folder) ? folder : `${parent}/${folder}`,
      );
    });
    expect(named).to.have.length.above(40);
    const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    expect(named.filter((folder) => !isFolder(folder))).to.deep.equal([]);
  });
});
