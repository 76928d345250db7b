import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { streamChat } from '../../support/chat.ts';
import { Inspector } from '../../support/inspector.ts';
import { describeModel } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { useReplicas } from '../../support/replica-stack.ts';

/** Chats whose files are compared: what runs with only one of them runs by itself. */
const CHATS = 4;
/** Without libraries (`kit/`). A chat that passes through more is a sign of a cut in the wrong place. */
const MAX_FILES = 78;
/** Its list in the documentation. */
const DOCUMENT = 'docs/architecture.md';
/** They run for prompts that are long enough to lead to a replica. */
const FOR_LONG_PROMPTS = ['gateway/capacity/replica-choice.ts'];
const JOURNEY = /^### A streamed chat request: .*\n\n((?:1\. .+\n)+)/m;

interface Coverage {
  result: { url: string; functions: { functionName: string; ranges: { count: number }[] }[] }[];
}

describe('a streamed chat', function () {
  this.timeout(60_000);
  const stack = useReplicas(describeModel(), ['127.0.31.1', '127.0.31.2'], {
    script: 'gateway/main.ts',
    env: { NODE_OPTIONS: '--inspect=127.0.0.1:0' },
  });

  let files: Set<string>;
  before(async () => {
    const [replica] = stack.replicas;
    const [, url] = await replica!.program.waitFor(/Debugger listening on (ws:\S+)/);
    const inspector = await Inspector.connect(url!);
    const countLines = () => replica!.program.output.split('"message":"request"').length;
    const chat = async () => {
      const before = countLines();
      expect((await (await streamChat(replica!.url)).ended).isWhole).to.equal(true);
      // Its line is logged once it is charged.
      await pollUntil(() => countLines() > before, 'its line');
    };
    await stack.untilPeersKnown();
    await inspector.call('Profiler.enable');
    await inspector.call('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    const seen: Set<string>[] = [];
    for (let i = 0; i < CHATS; i++) {
      await inspector.call('Profiler.takePreciseCoverage');
      await chat();
      seen.push(listFiles(await inspector.call<Coverage>('Profiler.takePreciseCoverage')));
    }
    inspector.close();
    // A chat that a lease admits does not ask Redis.
    const asking = seen.filter((each) => each.has('redis/admission/admission-calls.ts'));
    files = new Set([...asking[0]!].filter((file) => asking.every((each) => each.has(file))));
  });

  it('runs no more source files than a reader can follow', () => {
    const own = [...files].filter((file) => !file.startsWith('kit/'));
    expect(own.length, own.sort().join('\n')).to.be.at.most(MAX_FILES);
  });

  it('runs each file that its list in the documentation names', () => {
    const [, list] = JOURNEY.exec(readFileSync(DOCUMENT, 'utf8'))!;
    const named = [...list!.matchAll(/^1\. `([^`]+\.ts)`/gm)].map(([, file]) => file!);
    expect(named.length).to.be.above(20);
    expect(named.filter((file) => !files.has(file))).to.deep.equal(FOR_LONG_PROMPTS);
  });
});

/** Own source files of which a function has run. */
function listFiles({ result }: Coverage): Set<string> {
  const own = result.filter(({ url }) => url.startsWith('file:') && !url.includes('/node_modules/'));
  const run = own.filter(({ functions }) =>
    functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)),
  );
  return new Set(run.map(({ url }) => relative('', fileURLToPath(url))));
}
