/** `make listen`, `npm run listen -- URL`: receives the webhooks of `make run`, shows them, and forwards them to a program of your own. */
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { API_VERSION } from '../api/kubernetes-types.ts';
import { webhookEndpointResource } from '../api/webhook-endpoint.ts';
import { type EndpointsFile, LOCAL_ENDPOINTS, readEndpoints } from './endpoints-file.ts';
import { DEFAULT_NAMESPACE } from './local-plan.ts';
import { startWebhookRelay } from './webhook-relay.ts';

const { kind, plural } = webhookEndpointResource;
const ACTIVE_TIMEOUT_MS = 20_000;
const POLL_INTERVAL_MS = 100;

/** Throws with what is wrong with it. */
function readTarget(text: string | undefined): string | null {
  if (!text) return null;
  const url = URL.parse(text);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new Error(`URL: ${text} is not an address such as http://localhost:3000/hook`);
  return url.href;
}

type Call = (method: string, path: string, body?: object) => Promise<Answer>;

interface Answer {
  message?: string;
  status?: { conditions?: { type: string; status: string; message: string }[] };
}

function createCall({ url, token }: NonNullable<EndpointsFile['objects']>): Call {
  return async (method, path, body) => {
    const response = await fetch(`${url}/apis/${API_VERSION}/namespaces/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Answer;
    if (!response.ok) throw new Error(answer.message);
    return answer;
  };
}

async function waitUntilActive(call: Call, path: string): Promise<void> {
  const deadline = Date.now() + ACTIVE_TIMEOUT_MS;
  for (;;) {
    const { status } = await call('GET', path);
    const active = status?.conditions?.find(({ type }) => type === 'Active');
    if (active?.status === 'True') return;
    if (Date.now() > deadline)
      throw new Error(`the webhook endpoint is not active: ${active?.message ?? 'not reconciled yet'}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS));
  }
}

async function main(): Promise<void> {
  const target = readTarget(process.argv[2] ?? process.env.URL);
  const endpoints = readEndpoints(LOCAL_ENDPOINTS);
  if (!endpoints?.objects || !endpoints.webhooks)
    throw new Error('nothing is running here that could send webhooks: start make run first');
  const namespace = process.env.NAMESPACE || DEFAULT_NAMESPACE;
  const { receiverHost: host, signingSecret } = endpoints.webhooks;
  // The file tells the secret of one namespace.
  const secret = namespace === DEFAULT_NAMESPACE ? signingSecret : null;
  const relay = await startWebhookRelay({ target, secret, host, print: console.log });
  const name = `listen-${randomBytes(3).toString('hex')}`;
  const call = createCall(endpoints.objects);
  const path = `${namespace}/${plural}`;
  let isEnding = false;
  const end = async () => {
    if (isEnding) return;
    isEnding = true;
    lines.close();
    // Nothing is left to tell if make run has ended before.
    await call('DELETE', `${path}/${name}`).catch(() => {});
    await relay.close();
  };
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const match = /^\s*r(?:eplay)?(?:\s+#?(\d+))?\s*$/.exec(line);
    if (match) void relay.replay(match[1] === undefined ? undefined : Number(match[1]));
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void end());
  try {
    const spec = { url: relay.url };
    await call('POST', path, { apiVersion: API_VERSION, kind, metadata: { name }, spec });
    await waitUntilActive(call, `${path}/${name}`);
  } catch (error) {
    await end();
    throw error;
  }
  const forwards = target
    ? `forwards them to ${target}; r and Enter replays the last, r 3 the third`
    : 'shows them';
  console.log(`Receives the webhooks of ${namespace} and ${forwards}. Ctrl-C ends it.`);
}

main().catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
