/** One caller's bodies are as expensive to parse as they may be: other callers hardly wait. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ADMIN_PATHS, GATEWAY_NODE_FLAGS } from '../../../api/gateway-environment.ts';
import { hashApiKey } from '../../../api/identity.ts';
import { publishApiKeys, publishDeployment, publishHost } from '../../../redis/publication/publication.ts';
import { BodyClient, startFlood } from '../../support/body-flood.ts';
import { readChartLimits } from '../../support/chart-limits.ts';
import { type ChildProgram, findFreePort } from '../../support/child-program.ts';
import { type FrontProcess, startFrontProcess } from '../../support/front-process.ts';
import {
  API_KEY,
  describeModel,
  type Engine,
  type ModelReplica,
  startEngine,
  startReplica,
} from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { readBusyMs } from '../../support/process-load.ts';
import { TestStack } from '../../support/test-stack.ts';

const MIB = 1024 * 1024;
const CONNECTIONS = 24;
const MEASURED = 50;
const MEASURED_LARGE = 7;
/** What another caller may wait for a small request, in the 95th percentile: for the program's own work, not for the machine. */
const MAX_WAIT_MS = 150;
const OTHER_KEY = 'sk-other';
const ADDRESS = '127.0.0.21';
const HOSTS = { attacker: 'picture--team.models.example.com', other: 'picture--other.models.example.com' };
/** As the operator gives it for the chart's limit of 1 GiB. */
const SIDECAR_OPTIONS = [...GATEWAY_NODE_FLAGS, '--max-old-space-size=768'].join(' ');

const fill = (bytes: number, head: string, unit: string, tail: string): Buffer =>
  Buffer.from(head + unit.repeat((bytes - head.length - tail.length) / unit.length) + tail);
const distinctNames = (bytes: number): Buffer => {
  let text = '{"stream":1,"messages":[{}],"x":{"a":1';
  for (let index = 0; text.length < bytes - 20; index++) text += `,"a${index}":1`;
  return Buffer.from(`${text}}}`);
};

const SHAPES: Record<string, () => Buffer> = {
  'empty objects of 1.2 MiB': () => fill(1.2 * MIB, '{"stream":1,"messages":[', '{},', '{}]}'),
  'empty arrays just under 1 MiB': () => fill(MIB - 1, '{"stream":1,"messages":[{}],"x":[', '[],', '[]]}'),
  'distinct names just under 1 MiB': () => distinctNames(MIB - 1),
  'escapes of 8 MiB': () => fill(8 * MIB, '{"stream":1,"messages":[{}],"x":"', '\\u00e9\\n', '"}'),
  'images of 16 MiB': () => fill(16 * MIB, '{"stream":1,"messages":[{}],"x":"', 'QUJD', '"}'),
  'numbers of 8 MiB': () => fill(8 * MIB, '{"stream":1,"messages":[{}],"x":[', '1,', '1]}'),
};

const percentile = (waits: number[], share: number): number =>
  waits.toSorted((a, b) => a - b)[Math.floor(waits.length * share)]!;

interface Waits {
  /** 95th percentile of milliseconds. */
  small: number;
  /** Median. */
  large: number;
  /** Statuses of requests that were not served for a reason other than their body. */
  refused: number[];
}

async function measure(
  program: ChildProgram,
  client: BodyClient,
  body: (bytes: number) => Buffer,
): Promise<Waits> {
  const refused: number[] = [];
  const send = async (count: number, bytes: number) => {
    const waits: number[] = [];
    while (waits.length < count) {
      const before = readBusyMs(program);
      const status = await client.send(body(bytes));
      waits.push(readBusyMs(program) - before);
      if (status >= 429) refused.push(status);
    }
    return waits;
  };
  const small = percentile(await send(MEASURED, 100), 0.95);
  const large = percentile(await send(MEASURED_LARGE, MIB), 0.5);
  return { small, large, refused };
}

const image = (bytes: number) =>
  Buffer.from(JSON.stringify({ model: 'berth/chat', prompt: 'A ship', user: 'x'.repeat(bytes) }));
const chat = (bytes: number) =>
  Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: 'Hi. '.repeat(bytes / 4 + 1) }] }));

describe('expensive bodies', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bodies-'));
  const file = join(folder, 'body.json');
  let stack: TestStack;
  let engine: Engine;
  let replica: ModelReplica;
  let front: FrontProcess;
  const model = describeModel();
  const pictures = ['team', 'other'].map((namespace) =>
    describeModel({ kind: 'Image', replicas: 0 }, { namespace, name: 'picture' }),
  );

  before(async () => {
    stack = await TestStack.start();
    const key = { n: 'test', rpm: 1_000_000, tpd: 1_000_000_000, exp: 0, off: 0 as const };
    for (const { namespace } of pictures)
      await publishApiKeys(
        stack.redis,
        namespace,
        new Map([API_KEY, OTHER_KEY].map((text) => [hashApiKey(text), { ...key, n: text }])),
      );
    for (const each of [model, ...pictures]) await publishDeployment(stack.redis, each);
    await publishHost(stack.redis, HOSTS.attacker, { namespace: 'team', name: 'picture' });
    await publishHost(stack.redis, HOSTS.other, { namespace: 'other', name: 'picture' });
    engine = await startEngine();
    // For prompts of 1 MiB.
    await engine.control({ contextTokens: 1_000_000 });
    await engine.control({ ttftMs: 0, itlMs: 0, tokens: 1 });
    replica = await startReplica({
      redisURL: stack.server.url,
      engineURL: engine.url,
      config: model,
      address: ADDRESS,
      port: await findFreePort([ADDRESS]),
      env: { NODE_OPTIONS: SIDECAR_OPTIONS },
    });
    front = await startFrontProcess({
      redisURL: stack.server.url,
      replicaPort: 1,
      env: { NODE_OPTIONS: readChartLimits('front').nodeOptions },
    });
    for (const each of [replica, front])
      await pollUntil(async () => (await each.admin(ADMIN_PATHS.readyz)).ok, 'ready');
  });
  after(async () => {
    await Promise.all([replica?.stop('SIGKILL'), front?.stop('SIGKILL'), engine?.stop('SIGKILL')]);
    await stack?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const programs = {
    'a front': () => {
      const url = `${front.origin}/v1/images/generations?async=true`;
      return {
        program: front.program,
        attacker: { url, key: API_KEY, host: HOSTS.attacker },
        other: { url, key: OTHER_KEY, host: HOSTS.other },
        body: image,
      };
    },
    'a sidecar': () => ({
      program: replica.program,
      attacker: { url: `${replica.url}/chat/completions`, key: API_KEY },
      other: { url: `${replica.url}/chat/completions`, key: OTHER_KEY },
      body: chat,
    }),
  };

  for (const [name, targets] of Object.entries(programs))
    for (const [shape, make] of Object.entries(SHAPES))
      it(`${shape} to ${name} hardly delay another caller`, async () => {
        const { program, attacker, other, body } = targets();
        const client = new BodyClient(other);
        writeFileSync(file, make());
        const flood = startFlood({ target: attacker, body: file, connections: CONNECTIONS });
        await flood.waitFor(/(answered.*\s*){3}/);
        const waits = await measure(program, client, body);
        await flood.stop('SIGKILL');
        client.close();
        if (process.env.SHOW_FIGURES) console.log('      ', waits);
        expect(waits.refused).to.deep.equal([]);
        expect(waits.small, 'ms for a small body').to.be.below(MAX_WAIT_MS);
        expect(waits.large, 'ms for a body of 1 MiB').to.be.below(2 * MAX_WAIT_MS);
      });
});
