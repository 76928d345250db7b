import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { ensureBinary } from '../../cluster/binaries.ts';
import { ensureDocker, releaseDocker } from '../../cluster/docker.ts';
import { ensureNodeImage } from '../../cluster/node-image.ts';
import { usePython } from '../support/python.ts';

const run = promisify(execFile);
const PAGE = 'docs/kind.md';
/** kind's own variable: a cluster of the developer's is left alone. */
const KIND_CLUSTER_NAME = 'berth-page';

/** The code of the page, by language. */
const readBlocks = (language: string): string[] =>
  [...readFileSync(PAGE, 'utf8').matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .filter(([, name]) => name === language)
    .map(([, , code]) => code!);

describe('the page "Try it on kind"', function () {
  this.timeout(900_000);
  const findPython = usePython(['openai==3.22.1']);
  let folder: string;
  let kind: string;
  before(async () => {
    await ensureDocker();
    folder = mkdtempSync(join(tmpdir(), 'berth-kind-page-'));
    kind = await ensureBinary('kind');
    for (const program of ['kubectl', 'helm'])
      symlinkSync(await ensureBinary(program), join(folder, program));
    // What the machines that the page is written for have: a registry, and control groups of version 2.
    const isUnified = existsSync('/sys/fs/cgroup/cgroup.controllers');
    const settings = `--image ${await ensureNodeImage()} ${isUnified ? '' : '--config examples/kind/cgroup-v1.yaml'}`;
    const shim = `#!/bin/sh\n[ "$1 $2" = 'create cluster' ] && set -- "$@" ${settings}\nexec ${kind} "$@"\n`;
    writeFileSync(join(folder, 'kind'), shim, { mode: 0o755 });
    // Left by a run that was killed.
    await run(kind, ['delete', 'cluster', '--name', KIND_CLUSTER_NAME]);
  });
  after(async () => {
    await run(kind, ['delete', 'cluster', '--name', KIND_CLUSTER_NAME]).catch(() => {});
    await releaseDocker();
    rmSync(folder, { recursive: true, force: true });
  });

  it('has commands that lead to a chat, and remove what they made', async () => {
    const blocks = readBlocks('sh');
    const removal = blocks.pop()!;
    const script = [
      'set -e',
      ...blocks,
      '"$PYTHON" -c "$CODE" > "$ANSWER"',
      'kill %1',
      removal,
      'kind get clusters',
    ];
    const answer = join(folder, 'answer');
    const env = {
      ...process.env,
      PATH: [folder, process.env.PATH].join(':'),
      KUBECONFIG: join(folder, 'kubeconfig'),
      HELM_DATA_HOME: folder,
      KIND_CLUSTER_NAME,
      PYTHON: findPython(),
      CODE: readBlocks('python').join('\n'),
      ANSWER: answer,
    };
    const { stdout } = await run('bash', ['-c', script.join('\n')], { env });
    expect(readFileSync(answer, 'utf8').trim()).to.not.equal('');
    expect(stdout)
      .to.include('simulator-chat')
      .and.not.match(new RegExp(`^${KIND_CLUSTER_NAME}$`, 'm'));
  });
});
