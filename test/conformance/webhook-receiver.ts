/** What every receiver of webhooks must take and refuse. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { signDelivery } from '../../gateway/webhooks/signature.ts';

export const SECRET = 'whsec_c2VjcmV0';
const BODY = Buffer.from(
  JSON.stringify({ id: 'evt_1', type: 'request.completed', data: { id: 'req_1', note: 'ümlaut ☃' } }),
);
const now = () => Math.floor(Date.now() / 1000);
const signed = (at = now(), body = BODY, secret = SECRET) =>
  signDelivery(body, { current: secret, previous: null }, at * 1_000);
/** While a new secret overlaps with the previous one. */
const signedTwice = (current: string, previous: string) =>
  signDelivery(BODY, { current, previous: { secret: previous, until: Date.now() + 60_000 } }, Date.now());

/** Deliveries, and whether a receiver must accept them. */
export const DELIVERIES: [
  title: string,
  header: () => string | undefined,
  body: Buffer,
  isGenuine: boolean,
][] = [
  ['a genuine delivery', () => signed(), BODY, true],
  ['one by a new secret and this one', () => signedTwice('whsec_new', SECRET), BODY, true],
  ['one by this secret and an older one', () => signedTwice(SECRET, 'whsec_old'), BODY, true],
  ['one by two others', () => signedTwice('whsec_new', 'whsec_old'), BODY, false],
  ['one of four minutes ago', () => signed(now() - 240), BODY, true],
  ['one of ten minutes ago', () => signed(now() - 600), BODY, false],
  ['one from the future', () => signed(now() + 600), BODY, false],
  ['a changed body', () => signed(), Buffer.concat([BODY, Buffer.from(' ')]), false],
  ['another secret', () => signed(now(), BODY, 'whsec_other'), BODY, false],
  ['a changed time', () => signed().replace(/t=\d+/, `t=${now() - 1}`), BODY, false],
  ['no header', () => undefined, BODY, false],
  ['a malformed header', () => 't=1;v1=2', BODY, false],
  ['a short digest', () => signed().slice(0, -2), BODY, false],
];

/** `command` starts it. */
export function describeReceiver(name: string, command: () => [program: string, ...args: string[]]): void {
  describe(`examples/webhooks/${name}`, () => {
    let receiver: ChildProcess;
    let url: string;
    const lines: string[] = [];

    before(async () => {
      const [program, ...args] = command();
      receiver = spawn(program, args, {
        env: { ...process.env, SIGNING_SECRET: SECRET, PORT: '0' },
        stdio: ['ignore', 'pipe', 'inherit'],
        detached: true,
      });
      const output = createInterface({ input: receiver.stdout! });
      [url] = (await once(output, 'line')) as [string];
      output.on('line', (line) => lines.push(line));
    });

    after(() => {
      // `go run` starts the built program as its child.
      process.kill(-receiver.pid!, 'SIGKILL');
    });

    for (const [title, header, body, isGenuine] of DELIVERIES)
      it(`${isGenuine ? 'takes' : 'refuses'} ${title}`, async () => {
        const value = header();
        const headers: Record<string, string> = { 'content-type': 'application/json' };
        if (value !== undefined) headers['x-service-signature'] = value;
        const response = await fetch(url, { method: 'POST', headers, body });
        expect(response.status).to.equal(isGenuine ? 204 : 401);
      });

    it('prints the events that it took, and no other', () => {
      expect(lines).to.deep.equal(Array(4).fill('request.completed evt_1 req_1'));
    });
  });
}
