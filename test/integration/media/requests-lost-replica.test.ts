import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { publishReplicas } from '../../../redis/publication/publication.ts';
import { pollUntil } from '../../support/poll.ts';

import { FILM, type FrontWorkspace, REPLICAS, startFrontWorkspace } from './front-workspace.ts';

describe('a front whose replica breaks off before it answers', () => {
  let space: FrontWorkspace;
  let replica: Server;
  let seen = 0;
  let finished: string;
  let queued: string;

  const submit = async () => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: 'film', prompt: 'x', seconds: '1', size: '64x64' }))
      form.set(name, value);
    const { body, text } = await space.call('film', '/videos', { body: form });
    expect(body.status, text).to.equal('queued');
    return String(body.id);
  };

  before(async () => {
    space = await startFrontWorkspace();
    await space.publish('film', FILM);
    finished = await submit();
    await space.succeed(await space.claim('film'), Buffer.from('film'));
    queued = await submit();
    replica = createServer((socket: Socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        seen += 1;
        socket.destroy();
      });
    });
    replica.listen(space.replicaPort, REPLICAS[0]);
    await once(replica, 'listening');
    await publishReplicas(space.connection.redis, 'team', 'film', [REPLICAS[0]]);
    await pollUntil(async () => (await space.call('film', '/models')).status === 502, 'the front to hand on');
  });
  after(async () => {
    replica?.close();
    await space?.stop();
  });

  const call = async (path: string, method = 'GET', key?: string) => {
    const before = seen;
    const answer = await space.call('film', path, { method, key });
    expect(seen, 'requests that the replica saw').to.equal(before + 1);
    return answer;
  };

  it('lists and describes requests itself', async () => {
    const list = await call('/requests?status=queued');
    expect(list.status, list.text).to.equal(200);
    expect((list.body.data as { id: string }[]).map(({ id }) => id)).to.deep.equal([queued]);
    expect((await call(`/requests/${finished}`)).body).to.include({ id: finished, status: 'succeeded' });
  });

  it('shows videos and where their content is', async () => {
    expect((await call(`/videos/${queued}`)).body).to.include({ id: queued, status: 'queued' });
    const content = await call(`/videos/${finished}/content`);
    expect(content.status, content.text).to.equal(302);
  });

  it('still asks who wants to know', async () => {
    expect((await call('/requests', 'GET', 'sk-nobody')).status).to.equal(401);
  });

  it('repeats nothing that may have had an effect', async () => {
    for (const [method, path] of [
      ['POST', `/requests/${queued}/cancel`],
      ['DELETE', `/videos/${queued}`],
    ] as const) {
      const { status, body } = await call(path, method);
      expect({ status, code: (body.error as { code: string }).code }).to.deep.equal({
        status: 502,
        code: 'upstream_error',
      });
    }
    expect((await call(`/requests/${queued}`)).body.status).to.equal('queued');
  });
});
