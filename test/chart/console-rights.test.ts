import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import {
  CONSOLE_RIGHTS,
  CONSOLE_WRITES,
  type ConsoleRight,
  POD_READS,
  POD_WRITES,
} from '../../api/console-rights.ts';
import {
  channels,
  configKeys,
  consoleKeys,
  deliveryKeys,
  globalKeys,
  workKeys,
} from '../../api/redis-keys.ts';
import { ensureBinary } from '../../cluster/binaries.ts';
import type { RedisConnection } from '../../redis/client.ts';
import { expandEvent } from '../../redis/deliveries/delivery-calls.ts';
import { loadLibrary } from '../../redis/library.ts';
import { cancelRequest } from '../../redis/requests/request-calls.ts';
import { connectTo, rejection } from '../support/redis-client.ts';
import { REDIS_PASSWORDS, type RedisServer, startRedis } from '../support/redis-server.ts';
import { IMAGES } from './render.ts';

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

async function render(): Promise<
  { kind: string; metadata: { name: string }; rules: Rule[]; data: Record<string, string> }[]
> {
  const args = ['template', 'berth', 'charts/berth', '--namespace', 'berth', '--set', IMAGES];
  const { stdout } = await promisify(execFile)(await ensureBinary('helm'), args, {
    maxBuffer: 64 * 1024 * 1024,
  });
  return parseAllDocuments(stdout)
    .map((document) => document.toJS())
    .filter(Boolean);
}

describe("the chart's rights for the console", () => {
  it('give members all that the console asks for, and those who only view what is read', async () => {
    const roles = (await render()).filter(({ kind }) => kind === 'ClusterRole');
    const may = (
      role: string,
      { group = 'berth.dev', verb, resource, subresource }: ConsoleRight,
    ): boolean => {
      const { rules } = roles.find(({ metadata }) => metadata.name === `berth-${role}`)!;
      const full = subresource ? `${resource}/${subresource}` : resource;
      return rules.some(
        ({ apiGroups, resources, verbs }) =>
          apiGroups.includes(group) && resources.includes(full) && verbs.includes(verb),
      );
    };
    const rights = [
      ...Object.values(CONSOLE_RIGHTS),
      ...Object.values(CONSOLE_WRITES).flat(),
    ] as ConsoleRight[];
    for (const right of rights) {
      const isRead = right.verb === 'get' || right.verb === 'list';
      expect(may('member', right), `member: ${JSON.stringify(right)}`).to.equal(true);
      expect(may('view', right), `view: ${JSON.stringify(right)}`).to.equal(isRead);
      if (!isRead) expect(may('edit', right), `edit: ${JSON.stringify(right)}`).to.equal(true);
    }
    // Granted by the built-in view and edit roles, to which Berth's rules are added.
    for (const right of [...Object.values(POD_READS), ...Object.values(POD_WRITES)] as ConsoleRight[])
      expect(may('member', right), `member: ${JSON.stringify(right)}`).to.equal(true);
  });

  describe('on the bundled Redis', () => {
    let server: RedisServer;
    let admin: RedisConnection;
    let own: RedisConnection;
    before(async () => {
      server = await startRedis();
      admin = await connectTo(server);
      await loadLibrary(admin.redis);
      const user = { username: 'berth-console', password: REDIS_PASSWORDS.console };
      own = await connectTo(server, { ...user, role: 'console' });
    });
    after(async () => {
      await own?.close();
      await admin?.close();
      await server?.stop();
    });

    const ALLOWED: [what: string, command: string, ...args: string[]][] = [
      ['a session', 'set', consoleKeys.session('a'), 'x'],
      ['a key of minutes', 'set', configKeys('team').sessionKey('a'), 'x'],
      ['what is published', 'hgetall', configKeys('team').apiKeys],
      ['requests', 'zrevrange', workKeys('team').index('chat', 'all'), '0', '1'],
      ['deliveries', 'zrevrange', deliveryKeys('team').log, '0', '1'],
      ['the namespaces', 'smembers', globalKeys.workspaces],
    ];
    for (const [what, command, ...args] of ALLOWED)
      it(`reaches ${what}`, async () => {
        expect(await rejection(own.redis.call(command, ...args))).to.equal(undefined);
      });

    const REFUSED: [what: string, command: string, ...args: string[]][] = [
      ['write lasting keys', 'hset', configKeys('team').apiKeys, 'a', 'x'],
      ['write what a workspace may spend', 'hset', configKeys('team').workspace, 'creditMicros', '1'],
      ['write hosts', 'hset', globalKeys.hosts, 'a', 'x'],
      ['make users', 'acl', 'setuser', 'x', 'on'],
      ['load functions', 'function', 'flush'],
      ['forget everything', 'flushall'],
    ];
    for (const [what, command, ...args] of REFUSED)
      it(`may not ${what}`, async () => {
        expect(String(await rejection(own.redis.call(command, ...args)))).to.match(/NOPERM/);
      });

    it('listens to what is announced of requests and deliveries', async () => {
      const patterns = [channels.allEvents, channels.allJobs];
      expect(await admin.redis.call('acl', 'dryrun', 'berth-console', 'psubscribe', ...patterns)).to.equal(
        'OK',
      );
    });

    it('cancels requests and sends test events, by the functions', async () => {
      const namespace = 'team';
      const canceled = await cancelRequest(own.redis, { namespace, id: 'none', token: '' });
      expect(canceled.verdict).to.equal('unknown');
      const event = { namespace, id: 'evt_1', type: 'webhook.test', requestId: '', testBody: '{}' };
      const target = { url: 'https://hooks.example.com/', endpoint: 'results' };
      expect(await expandEvent(own.redis, event, [target])).to.equal(1);
    });
  });
});
