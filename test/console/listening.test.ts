/** `berth listen` beside `make run`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { expect } from 'chai';
import { pollUntil } from '../support/poll.ts';
import { NAMESPACE, useConsole } from './support/console.ts';
import { isSigned, type Receiver, startReceiver } from './support/receiver.ts';

describe('berth listen', function () {
  this.timeout(120_000);
  const use = useConsole();
  let receiver: Receiver;
  let child: ChildProcess;
  let output = '';

  before(async () => {
    receiver = await startReceiver();
    child = spawn(process.execPath, ['cli/main.ts', 'listen', receiver.url], {
      env: { ...process.env, BERTH_STATE: use().stack.folder },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk) => {
        output += chunk;
      });
    await pollUntil(async () => output.includes('Receives the webhooks'), 'berth listen to be ready', 60_000);
  });
  after(() => {
    child?.kill('SIGKILL');
    receiver?.stop();
  });

  it('forwards deliveries as they are signed, and replays them', async () => {
    const { stack } = use();
    const { baseURL, apiKey, modelId } = stack.find('Image');
    const answer = await fetch(`${baseURL}/images/generations?async=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: modelId, prompt: 'a boat' }),
    });
    const { id } = (await answer.json()) as { id: string };
    const ours = () => receiver.received.filter(({ body }) => body.includes(id));
    await pollUntil(async () => ours().length === 1, 'the delivery', 60_000);
    expect(isSigned(ours()[0]!, stack.endpoints.webhooks!.signingSecret)).to.equal(true);
    expect(output).to.include('request.completed').and.to.include(id).and.not.to.include('WRONG SIGNATURE');
    child.stdin!.write('r\n');
    await pollUntil(async () => receiver.received.length === 2, 'the replay');
    expect(receiver.received[1]!.headers['webhook-id']).to.equal(receiver.received[0]!.headers['webhook-id']);
  });

  it('leaves no endpoint behind', async () => {
    const page = await use().open('webhooks');
    await page.getByRole('article', { name: /^listen-/ }).waitFor();
    child.kill('SIGTERM');
    await page.getByRole('article', { name: /^listen-/ }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).pathname).to.equal(`/${NAMESPACE}/webhooks`);
    await page.context().close();
  });
});
