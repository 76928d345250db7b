/** The command `berth`, installed from its archive and nothing else. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { API_VERSION } from '../../api/kubernetes-types.ts';
import { VERSION } from '../../api/names.ts';
import { COMMAND_NAMES } from '../../cli/framework/commands.ts';
import { packCLI } from '../../pack-cli.ts';
import { isSigned, type Receiver, startReceiver } from '../console/support/receiver.ts';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';
import { pollUntil } from '../support/poll.ts';

const READY = 'Receives the webhooks of default';

describe('the package of berth', function () {
  this.timeout(180_000);
  let root: string;
  let command: string;
  let child: ChildProcess | undefined;
  let output = '';

  before(async () => {
    root = mkdtempSync(join(tmpdir(), 'berth-package-'));
    command = await install(root);
  });
  after(() => rmSync(root, { recursive: true }));
  beforeEach(() => {
    output = '';
  });
  afterEach(() => {
    child?.kill('SIGKILL');
  });

  const start = (args: string[], cwd = root): ChildProcess => {
    const { BERTH_STATE: _, KUBECONFIG: __, ...env } = process.env;
    const started = spawn(command, args, { cwd, env });
    for (const stream of [started.stdout, started.stderr])
      stream.on('data', (chunk) => {
        output += chunk;
      });
    child = started;
    return started;
  };
  const see = (text: string) =>
    pollUntil(async () => output.includes(text), `"${text}"`, 60_000).catch((error: Error) => {
      throw new Error(`${error.message}; printed so far:\n${output}`);
    });
  const end = async (ending: ChildProcess): Promise<number | null> => {
    await pollUntil(async () => ending.exitCode !== null, 'its end', 20_000);
    return ending.exitCode;
  };
  const stop = (ending: ChildProcess): Promise<number | null> => {
    ending.kill('SIGTERM');
    return end(ending);
  };

  it('needs no other package, and prints its help and its version', async () => {
    expect(readdirSync(join(root, 'node_modules')).filter((name) => !name.startsWith('.'))).to.deep.equal([
      '@berth-dev',
    ]);
    expect(await end(start(['--version']))).to.equal(0);
    expect(output.trim()).to.equal(VERSION);
    output = '';
    expect(await end(start(['--help']))).to.equal(0);
    for (const name of COMMAND_NAMES) expect(output).to.include(`\n  ${name} `);
    const { license, version } = JSON.parse(
      readFileSync(join(root, 'node_modules/@berth-dev/berth/package.json'), 'utf8'),
    );
    expect({ license, version }).to.deep.equal({ license: 'Apache-2.0', version: VERSION });
  });

  describe('with make run', () => {
    let stack: LocalStack;
    let receiver: Receiver;
    before(async () => {
      stack = await startLocalStack();
    });
    after(() => stack?.stop());
    beforeEach(async () => {
      receiver = await startReceiver();
    });
    afterEach(() => receiver.stop());

    /** Resolves with the id of the request. */
    const requestImage = async (fields = {}): Promise<string> => {
      const { baseURL, apiKey, modelId } = stack.find('Image');
      const answer = await fetch(`${baseURL}/images/generations?async=true`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: modelId, prompt: 'a boat', ...fields }),
      });
      return ((await answer.json()) as { id: string }).id;
    };
    const expectForwarded = async (id: string) => {
      const { signingSecret } = stack.endpoints.webhooks!;
      const ours = () => receiver.received.filter(({ body }) => body.includes(id));
      await pollUntil(async () => ours().length === 1, `the delivery of ${id}`, 60_000);
      await see(`${receiver.url} answered 200`);
      expect(isSigned(ours()[0]!, signingSecret)).to.equal(true);
      expect(output).to.include('request.completed').and.to.include(id).and.not.to.include('WRONG SIGNATURE');
      child!.stdin!.write('r 1\n');
      await pollUntil(async () => ours().length === 2, 'the replay');
      expect(ours()[1]).to.deep.equal(ours()[0]);
    };
    const listEndpoints = async (): Promise<string[]> => {
      const { url, token } = stack.endpoints.objects!;
      const response = await fetch(`${url}/apis/${API_VERSION}/namespaces/default/webhookendpoints`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const { items } = (await response.json()) as { items: { metadata: { name: string } }[] };
      return items.map(({ metadata }) => metadata.name);
    };

    /** What a command prints, as JSON. */
    const read = async (...args: string[]) => {
      output = '';
      expect(await end(start([...args, '--folder', stack.folder, '--json'])), output).to.equal(0);
      return JSON.parse(output);
    };

    it('says that a deployment is ready, chats with it, and finds the request in the log', async () => {
      const { name, modelId } = stack.find('LLM');
      expect(await read('why', name)).to.include({ name, ready: true });
      const { key } = await read('key', 'of-the-package');
      expect(key).to.match(/^sk-berth-/);
      const answer = await read('chat', name, 'Hello');
      expect(answer).to.include({ model: modelId }).and.have.property('content').that.is.not.equal('');
      const { line } = await read('logs', name, '-c', 'gateway', '--request', answer.request_id);
      expect(line).to.include({ message: 'request', status: 200, request_id: answer.request_id });
    });

    it('finds make run from a folder below, forwards its deliveries and replays them', async () => {
      const inner = join(root, 'project', 'source');
      mkdirSync(inner, { recursive: true });
      symlinkSync(stack.folder, join(root, 'project', '.berth'));
      const listener = start(['listen', receiver.url], inner);
      await see(READY);
      expect((await listEndpoints()).some((name) => name.startsWith('listen-'))).to.equal(true);
      await expectForwarded(await requestImage());
      expect(await stop(listener)).to.equal(0);
      expect(await listEndpoints()).to.deep.equal([]);
    });

    it('follows deliveries to others by the console, signs and replays them', async () => {
      const other = await startReceiver();
      writeFileSync(join(root, 'token'), stack.endpoints.console!.token);
      writeFileSync(join(root, 'secret'), stack.endpoints.webhooks!.signingSecret);
      const given = ['--token-file', 'token', '--secret-file', 'secret', '--namespace', 'default'];
      const listener = start(['listen', '--console', stack.endpoints.console!.url, ...given, receiver.url]);
      await see(READY);
      await expectForwarded(await requestImage({ webhook_url: other.url }));
      await pollUntil(async () => other.received.length === 1, 'the delivery itself');
      expect(receiver.received[0]!.body).to.equal(other.received[0]!.body);
      expect(Object.keys(receiver.received[0]!.headers)).to.include.members(
        Object.keys(other.received[0]!.headers).filter((name) => /^(x-service|webhook)-/.test(name)),
      );
      expect(await stop(listener)).to.equal(0);
      other.stop();
    });

    it('says what is missing', async () => {
      expect(await end(start(['listen']))).to.equal(3);
      expect(output).to.include('start make run first');
      writeFileSync(join(root, 'wrong'), 'nonsense');
      const given = ['--console', stack.endpoints.console!.url, '--token-file', 'wrong'];
      expect(await end(start(['listen', ...given]))).to.equal(1);
      expect(output).to.include('Token not recognized');
    });
  });
});

/** Resolves with the command that npm made. */
async function install(root: string): Promise<string> {
  const archive = await packCLI(join(root, 'built'));
  // Dependencies, if there were any, could not be downloaded.
  const args = ['install', '--silent', '--offline', '--no-save', archive];
  execFileSync('npm', args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  return join(root, 'node_modules/.bin/berth');
}
