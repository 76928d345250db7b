/** SDKs for Standard Webhooks verify Berth's signatures. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { Webhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { generateSigningSecret } from '../../api/identity.ts';
import type { SigningSecrets } from '../../api/signing-secret.ts';
import { writeDeliveryHeaders } from '../../api/webhook-headers.ts';
import { signDelivery, signMessage } from '../../gateway/webhooks/signature.ts';
import { ensurePython } from '../support/python.ts';

const EVENT = { id: 'evt_1', type: 'request.completed', data: { id: 'req_1', note: 'ümlaut ☃' } };
const BODY = JSON.stringify(EVENT);
/** As `docs/webhooks.md` has one made, with bytes that differ between the alphabets of base64. */
const SECRET = `whsec_${Buffer.alloc(32, 0xfb).toString('base64')}`;
const OTHER = generateSigningSecret();
const PYTHON_PACKAGES = [
  'openai==3.22.1',
  'standardwebhooks==1.1.0',
  'svix==2.9.1',
  'anthropic[webhooks]==2.14.0',
];

type Headers = Record<string, string>;
type Verify = (body: string, headers: Headers) => unknown;

const alone = (current: string): SigningSecrets => ({ current, previous: null });
const twice = (current: string, previous: string): SigningSecrets => ({
  current,
  previous: { secret: previous, until: Date.now() + 60_000 },
});
function sign(secrets = alone(SECRET), secondsAgo = 0): Headers {
  const [body, now] = [Buffer.from(BODY), Date.now() - secondsAgo * 1_000];
  return writeDeliveryHeaders({
    id: 'dlv_1',
    eventId: EVENT.id,
    type: EVENT.type,
    timestamp: Math.floor(now / 1_000),
    serviceSignature: signDelivery(body, secrets, now),
    standardSignature: signMessage({ id: EVENT.id, body }, secrets, now),
  });
}

const DELIVERIES: [title: string, headers: () => Headers, body: string, isGenuine: boolean][] = [
  ['a genuine delivery', () => sign(), BODY, true],
  ['one by a new secret and this one', () => sign(twice(OTHER, SECRET)), BODY, true],
  ['one by this secret and an older one', () => sign(twice(SECRET, OTHER)), BODY, true],
  ['another secret', () => sign(alone(OTHER)), BODY, false],
  ['one of ten minutes ago', () => sign(alone(SECRET), 600), BODY, false],
  ['a changed body', () => sign(), `${BODY} `, false],
  ['a changed id', () => ({ ...sign(), 'webhook-id': 'evt_2' }), BODY, false],
];

const options = { apiKey: 'none', webhookSecret: SECRET };
const VERIFIERS: Record<string, Verify> = {
  'openai 7': (body, headers) => new OpenAI(options).webhooks.unwrap(body, headers),
  'openai 6': (body, headers) => new OpenAI6(options).webhooks.unwrap(body, headers),
  standardwebhooks: (body, headers) => new Webhook(SECRET).verify(body, headers),
  svix: (body, headers) => {
    new SvixWebhook(SECRET).verify(body, headers);
    return JSON.parse(body);
  },
  "Anthropic's SDK": (body, headers) =>
    new Anthropic({ apiKey: 'none' }).beta.webhooks.unwrap(body, { headers, key: SECRET }),
};

for (const [name, verify] of Object.entries(VERIFIERS))
  describe(`webhooks verified by ${name}`, () => {
    for (const [title, headers, body, isGenuine] of DELIVERIES)
      it(`${isGenuine ? 'takes' : 'refuses'} ${title}`, async () => {
        const outcome = await Promise.resolve()
          .then(() => verify(body, headers()))
          .catch((error: Error) => error);
        if (isGenuine) expect(outcome).to.deep.equal(EVENT);
        else expect(outcome).to.be.instanceOf(Error);
      });
  });

describe('webhooks verified in Python', () => {
  let taken: Record<string, boolean[]>;
  before(async () => {
    const deliveries = DELIVERIES.map(([, headers, body]) => ({ headers: headers(), body }));
    // One process for all: loading them takes most of its time.
    const args = ['test/conformance/webhook_sdks.py', SECRET, JSON.stringify(deliveries)];
    const { stdout } = await promisify(execFile)(ensurePython(PYTHON_PACKAGES), args);
    taken = JSON.parse(stdout);
  });

  for (const verifier of ['openai', 'standardwebhooks', 'svix', 'anthropic'])
    it(`takes what is genuine, and nothing else, with ${verifier}`, () => {
      expect(taken[verifier]).to.deep.equal(DELIVERIES.map(([, , , isGenuine]) => isGenuine));
    });
});
