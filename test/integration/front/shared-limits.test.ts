import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ADMIN_PATHS, GATEWAY_ENV } from '../../../api/gateway-environment.ts';
import { hashApiKey } from '../../../api/identity.ts';
import { publishApiKeys, publishDeployment, publishHost } from '../../../redis/publication/publication.ts';
import { type FrontProcess, startFrontProcess } from '../../support/front-process.ts';
import { fetchByHost } from '../../support/host-fetch.ts';
import { describeModel } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { TestStack } from '../../support/test-stack.ts';

const MIB = 1024 * 1024;
const SPOOL_BYTES = 10 * MIB;
/** Each workspace's deployment allows more than the front. */
const limits = { jsonBody: '160Mi', promptCharacters: 1_000_000 };
const HEAD = '--XX\r\ncontent-disposition: form-data; name=';

describe('a front that two workspaces share', () => {
  let stack: TestStack;
  let front: FrontProcess;
  const spool = mkdtempSync(join(tmpdir(), 'berth-spool-'));
  const keys = { team: ['sk-team-1', 'sk-team-2'], other: ['sk-other'] };
  const hostOf = (namespace: string) => `picture--${namespace}.models.example.com`;

  before(async () => {
    stack = await TestStack.start();
    const key = { n: 'test', rpm: 100_000, tpd: 1_000_000_000, exp: 0, off: 0 as const };
    for (const [namespace, texts] of Object.entries(keys)) {
      const model = describeModel({ kind: 'Image', replicas: 0, limits }, { namespace, name: 'picture' });
      const entries = texts.map((text) => [hashApiKey(text), { ...key, n: text }] as const);
      await publishApiKeys(stack.redis, namespace, new Map(entries));
      await publishDeployment(stack.redis, model);
      await publishHost(stack.redis, hostOf(namespace), { namespace, name: 'picture' });
    }
    front = await startFrontProcess({
      redisURL: stack.server.url,
      replicaPort: 1,
      env: {
        [GATEWAY_ENV.maxJsonBody]: String(MIB),
        [GATEWAY_ENV.maxPromptCharacters]: '100',
        [GATEWAY_ENV.spoolBytes]: String(SPOOL_BYTES),
        [GATEWAY_ENV.spoolPath]: spool,
      },
    });
    await pollUntil(async () => (await front.admin(ADMIN_PATHS.readyz)).ok, 'ready');
  });
  after(async () => {
    await front?.stop('SIGKILL');
    await stack?.stop();
    rmSync(spool, { recursive: true, force: true });
  });

  const countSpooled = () =>
    readdirSync(spool, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  const headersOf = (key: string, type: string) => ({ authorization: `Bearer ${key}`, 'content-type': type });
  const FORM = 'multipart/form-data; boundary=XX';

  async function generate(body: object): Promise<{ status: number; code: string }> {
    const response = await fetchByHost(`${front.origin}/v1/images/generations?async=true`, hostOf('team'), {
      method: 'POST',
      headers: headersOf('sk-team-1', 'application/json'),
      body: JSON.stringify(body),
    });
    const { error } = (await response.json()) as { error: { code: string } };
    return { status: response.status, code: error.code };
  }

  it('takes the smaller of its own limits and those of a deployment', async () => {
    const large = { model: 'berth/chat', prompt: 'A ship', note: 'x'.repeat(MIB) };
    expect(await generate(large)).to.deep.equal({ status: 413, code: 'request_too_large' });
    const long = { model: 'berth/chat', prompt: 'x'.repeat(101) };
    expect(await generate(long)).to.deep.equal({ status: 413, code: 'request_too_large' });
  });

  it('gives a workspace a share of its disk, whichever of its keys uploads', async () => {
    const start = `${HEAD}"image"; filename="a.png"\r\n\r\n`;
    const upload = Buffer.concat([Buffer.from(start), Buffer.alloc(3 * MIB)]);
    const url = `${front.origin}/v1/images/edits?async=true`;
    const edit = async (namespace: string, key: string) => {
      const body = Buffer.concat([upload, Buffer.from('\r\n--XX--\r\n')]);
      const options = { method: 'POST', headers: headersOf(key, FORM), body };
      return (await fetchByHost(url, hostOf(namespace), options)).status;
    };
    const open = request(url, {
      method: 'POST',
      headers: { ...headersOf('sk-team-1', FORM), host: hostOf('team') },
      agent: false,
    });
    open.on('error', () => {});
    open.write(upload);
    try {
      // If two arrive at the same time, either may be refused.
      await pollUntil(() => countSpooled() >= 3 * MIB, 'the open upload to be held');
      expect(await edit('team', 'sk-team-2')).to.equal(503);
      expect(await edit('other', 'sk-other')).to.equal(400);
    } finally {
      open.destroy();
    }
    await pollUntil(async () => (await edit('team', 'sk-team-2')) === 400, 'the share to be free again');
  });
});
