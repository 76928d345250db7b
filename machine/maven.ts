/** Java programs of Maven Central, each with the libraries that it needs, in the cache folder. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE_FOLDER } from './cache-folder.ts';
import { ensureProgram } from './system-package.ts';

/** Such as `org.gaul:s3proxy:4.1.0`. */
type Coordinates = string;

const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';

/** A class path: `program`, `libraries` in place of the versions that Maven would choose, and all that they need. */
export function ensureClassPath(program: Coordinates, libraries: Coordinates[] = []): string {
  const [, name, version] = program.split(':');
  const project = describeProject([program, ...libraries]);
  const hash = createHash('sha256').update(project).digest('hex').slice(0, 12);
  const folder = join(CACHE_FOLDER, 'java', `${name}-${version}-${hash}`);
  if (!existsSync(folder)) download(project, folder);
  return join(folder, '*');
}

export const ensureJava = (): string => ensureProgram('java', 'default-jre-headless');

function download(project: string, folder: string): void {
  const maven = ensureProgram('mvn', 'maven');
  console.error(`downloading ${folder} from Maven Central (about 1 min the first time, cached afterwards)…`);
  mkdirSync(join(folder, '..'), { recursive: true });
  const made = mkdtempSync(`${folder}-`);
  try {
    writeFileSync(join(made, 'pom.xml'), project);
    const jars = join(made, 'jars');
    const goal = [`${PLUGIN}:copy-dependencies`, `-DoutputDirectory=${jars}`];
    const { status, stdout, stderr } = spawnSync(maven, ['-q', '-B', ...goal], {
      cwd: made,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`mvn copy-dependencies failed:\n${stdout}${stderr}`);
    // Another process may have been faster; its result is as good.
    if (!existsSync(folder)) renameSync(jars, folder);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

function describeProject(dependencies: Coordinates[]): string {
  const elements = dependencies.map((each) => {
    const [group, name, version] = each.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`;
  });
  return [
    '<project>',
    '<modelVersion>4.0.0</modelVersion><groupId>berth.local</groupId><artifactId>test</artifactId><version>1</version>',
    `<dependencies>${elements.join('')}</dependencies>`,
    '</project>',
  ].join('\n');
}
