/** Webhooks as `make run` serves them: callback and subscription, from the manifests to a receiver on this machine. */

import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import { generateSigningSecret } from '../../api/identity.ts';
import { type EndpointEntry, readEndpoints } from '../../launch/endpoints-file.ts';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';
import { pollUntil } from '../support/poll.ts';

interface Delivery {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  event: { id: string; type: string; data: { id: string; status: string; output_object_key: string | null } };
}

describe('webhooks of make run', () => {
  let receiver: Server;
  let models: string;
  let stack: LocalStack;
  let video: EndpointEntry;
  const deliveries: Delivery[] = [];
  const urlOf = (path: string) => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;

  before(async () => {
    receiver = createServer(async (request, response) => {
      const body = await buffer(request);
      const { url = '', headers } = request;
      deliveries.push({ path: url, headers, body, event: JSON.parse(body.toString()) });
      response.writeHead(204).end();
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    models = mkdtempSync(join(tmpdir(), 'berth-models-'));
    cpSync('examples/local', models, { recursive: true });
    const write = (name: string, spec: object) =>
      writeFileSync(
        join(models, `webhook-${name}.yaml`),
        JSON.stringify({
          apiVersion: 'berth.dev/v1alpha1',
          kind: 'WebhookEndpoint',
          metadata: { name },
          spec,
        }),
      );
    write('all', { url: urlOf('/all') });
    write('failures', { url: urlOf('/failures'), eventTypes: ['request.failed'] });
    stack = await startLocalStack({ MODELS: models });
    video = stack.find('Video');
    await fetch(`${video.simulatorURL}/control`, {
      method: 'PUT',
      body: JSON.stringify({ jobSeconds: 0.1 }),
    });
  });
  after(async () => {
    await stack?.stop();
    receiver?.close();
    rmSync(models, { recursive: true, force: true });
  });

  async function submit(webhookUrl?: string): Promise<Response> {
    const form = new FormData();
    const { seconds, fps } = video.native ?? { seconds: 5, fps: 24 };
    const fields = {
      model: video.modelId,
      prompt: 'A ship leaves',
      size: video.resolutions![0]!,
      seconds,
      fps,
    };
    for (const [field, value] of Object.entries(fields)) form.set(field, String(value));
    if (webhookUrl !== undefined) form.set('webhook_url', webhookUrl);
    const headers = { authorization: `Bearer ${video.apiKey}` };
    return fetch(`${video.baseURL}/videos`, { method: 'POST', headers, body: form });
  }
  const listOf = (requestId: string) => deliveries.filter(({ event }) => event.data.id === requestId);
  const arrived = (requestId: string, count: number) =>
    pollUntil(() => listOf(requestId).length >= count, `${count} deliveries`, 30_000);
  async function requestIdOf(response: Response): Promise<string> {
    const text = await response.text();
    expect(response.status, text).to.be.oneOf([200, 202]);
    const requests = await fetch(`${video.baseURL}/requests?limit=1`, {
      headers: { authorization: `Bearer ${video.apiKey}` },
    });
    const { data } = (await requests.json()) as { data: { id: string }[] };
    return data[0]!.id;
  }

  it('deliver the end of a video to its callback and the subscription, signed with what endpoints.json says', async () => {
    const id = await requestIdOf(await submit(urlOf('/inline')));
    await arrived(id, 2);
    const got = listOf(id);
    expect(got.map(({ path }) => path).sort()).to.deep.equal(['/all', '/inline']);
    expect(new Set(got.map(({ event }) => event.id)).size).to.equal(1);
    for (const { headers, body, event } of got) {
      expect(event.type).to.equal('request.completed');
      expect(event.data.status).to.equal('succeeded');
      expect(headers['x-service-event']).to.equal('request.completed');
      const [, time, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-service-signature']))!;
      const { signingSecret } = stack.endpoints.webhooks!;
      const wanted = createHmac('sha256', signingSecret).update(`${time}.`).update(body).digest('hex');
      expect(signature).to.equal(wanted);
    }
  });

  it('reach one address once, and one that asks for failures when a request fails', async () => {
    const same = await requestIdOf(await submit(urlOf('/all')));
    await arrived(same, 1);
    await fetch(`${video.simulatorURL}/control`, {
      method: 'PUT',
      body: JSON.stringify({ fault: { kind: 'status', status: 400 }, faultTimes: 1 }),
    });
    const failing = await requestIdOf(await submit());
    await arrived(failing, 2);
    expect(
      listOf(failing)
        .map(({ path, event }) => `${path} ${event.type}`)
        .sort(),
    ).to.deep.equal(['/all request.failed', '/failures request.failed']);
    expect(listOf(same).map(({ path }) => path)).to.deep.equal(['/all']);
  });

  it('are refused for other addresses inside, in the documented words', async () => {
    for (const [url, why] of [
      ['http://10.0.0.1/', 'does not resolve to a public address'],
      ['http://127.0.0.3:4000/', 'does not resolve to a public address'],
      ['http://93.184.216.34/', 'must start with https://'],
    ] as const) {
      const answer = await submit(url);
      const { error } = (await answer.json()) as { error: { code: string; message: string } };
      expect([answer.status, error.code], url).to.deep.equal([422, 'invalid_webhook_url']);
      expect(error.message, url).to.contain(`\`webhook_url\` ${why}`);
    }
  });

  it('are signed with what endpoints.json says also once the secret was rolled', async () => {
    const { url, token } = stack.endpoints.objects!;
    const path = '/api/v1/namespaces/default/secrets/berth-signing-secret';
    const rolled = generateSigningSecret();
    const answer = await fetch(`${url}${path}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ data: { secret: Buffer.from(rolled).toString('base64') } }),
    });
    expect(answer.status).to.equal(200);
    const { webhooks, ...rest } = readEndpoints(join(stack.folder, 'endpoints.json'))!;
    expect(webhooks).to.deep.equal({ ...stack.endpoints.webhooks, signingSecret: rolled });
    expect({ ...rest, webhooks: stack.endpoints.webhooks }).to.deep.equal(stack.endpoints);
  });
});
