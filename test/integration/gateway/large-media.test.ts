import { expect } from 'chai';
import { ADMIN_PATHS, GATEWAY_ENV, GATEWAY_NODE_FLAGS } from '../../../api/gateway-environment.ts';
import { hashApiKey } from '../../../api/identity.ts';
import { publishApiKeys, publishDeployment } from '../../../redis/publication/publication.ts';
import { callChat, readError } from '../../support/chat.ts';
import { findFreePort } from '../../support/child-program.ts';
import { type LoopbackServer, startHttpServer } from '../../support/loopback-server.ts';
import {
  describeModel,
  type Engine,
  type ModelReplica,
  startEngine,
  startReplica,
} from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { watchLoad } from '../../support/process-load.ts';
import { TestStack } from '../../support/test-stack.ts';

const MIB = 1024 * 1024;
/** As the operator gives it for the chart's limit of 1 GiB. */
const SIDECAR_OPTIONS = [...GATEWAY_NODE_FLAGS, '--max-old-space-size=768'].join(' ');
const MAX_RESIDENT_MIB = 900;
const ADDRESS = '127.0.0.21';
const KEY = 'sk-media';
const OTHER_KEY = 'sk-other';
/** A third of the heap, of which a key has at most two thirds; each image takes it twice while it is put into its request. */
const IMAGE_BYTES = 20 * MIB;
const CHATS = 16;

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(IMAGE_BYTES - 8, 7)]);

describe('images that chats name by URL', () => {
  let stack: TestStack;
  let engine: Engine;
  let replica: ModelReplica;
  let images: LoopbackServer;
  const config = describeModel();

  before(async () => {
    stack = await TestStack.start();
    const key = { n: 'test', rpm: 100_000, tpd: 1_000_000_000, exp: 0, off: 0 as const };
    const keys = [KEY, OTHER_KEY].map((text) => [hashApiKey(text), { ...key, n: text }] as const);
    await publishApiKeys(stack.redis, config.namespace, new Map(keys));
    await publishDeployment(stack.redis, config);
    engine = await startEngine();
    images = await startHttpServer((_, res) => res.end(PNG));
    replica = await startReplica({
      redisURL: stack.server.url,
      engineURL: engine.url,
      config,
      address: ADDRESS,
      port: await findFreePort([ADDRESS]),
      env: {
        NODE_OPTIONS: SIDECAR_OPTIONS,
        [GATEWAY_ENV.egressAllow]: '127.0.0.1/32',
        [GATEWAY_ENV.egressPlainHTTP]: 'true',
      },
    });
    await pollUntil(async () => (await replica.admin(ADMIN_PATHS.readyz)).ok, 'ready');
  });
  after(async () => {
    await Promise.all([replica?.stop('SIGKILL'), engine?.stop('SIGKILL'), images?.stop()]);
    await stack?.stop();
  });

  const chat = (key: string, isWithImage = true) => {
    const url = `http://127.0.0.1:${images.port}/a.png`;
    const content = isWithImage ? [{ type: 'image_url', image_url: { url } }] : 'Hello';
    return callChat(replica.url, { key, body: { messages: [{ role: 'user', content }], max_tokens: 1 } });
  };

  it('take no more memory together than is there for bodies: the others are to try again, and nobody else notices', async () => {
    await engine.control({ ttftMs: 1_500, itlMs: 0, tokens: 1 });
    const load = watchLoad(replica.program, async () => {
      expect((await replica.admin(ADMIN_PATHS.healthz)).ok).to.equal(true);
    });
    const sent = Array.from({ length: CHATS }, () => chat(KEY));
    expect((await chat(OTHER_KEY, false)).status).to.equal(200);
    const answers = await Promise.all(sent);
    await load.stop();
    const refused = answers.filter(({ status }) => status !== 200);
    expect(answers.length - refused.length).to.be.above(0);
    expect(refused).to.have.length.above(CHATS / 2);
    for (const answer of refused)
      expect(await readError(answer)).to.include({
        status: 503,
        code: 'temporarily_unavailable',
        retryAfter: '5',
      });
    expect(load.peakMiB()).to.be.below(MAX_RESIDENT_MIB);
    // All of it is free again.
    expect((await chat(KEY)).status).to.equal(200);
  });
});
