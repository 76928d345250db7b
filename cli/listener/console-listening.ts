/** Deliveries of an installation, from its console: forwarded with the headers that Berth sends. */

import { decodeSigningSecret, SIGNING_SECRET_RULE } from '../../api/signing-secret.ts';
import { writeDeliveryHeaders } from '../../api/webhook-headers.ts';
import type { DeliveryDetail } from '../../console/api.ts';
import { signDelivery, signMessage } from '../../gateway/webhooks/signature.ts';
import { systemClock } from '../../kit/clock.ts';
import { readTextFile } from '../../kit/environment.ts';
import type { Source } from './arguments.ts';
import { ConsoleClient } from './console-client.ts';
import { openFeed } from './console-feed.ts';
import { createInbox, type Print } from './inbox.ts';
import type { Listening } from './listening.ts';

export interface ConsoleListeningOptions {
  source: Extract<Source, { kind: 'console' }>;
  /** null: in the file that `source` names. */
  token: string | null;
  target: string | null;
  print: Print;
  signal: AbortSignal;
}

/** Throws with the reason if the console refuses the token, or permission to read deliveries. */
export async function listenToConsole(options: ConsoleListeningOptions): Promise<Listening> {
  const { source, target, print, signal } = options;
  const secret = source.secretFile === null ? null : readSecret(source.secretFile);
  const client = new ConsoleClient({
    url: source.url,
    readToken: createTokenReader(source.tokenFile, options.token),
    namespace: source.namespace,
    signal,
  });
  const session = await client.signIn().catch((error: Error) => {
    const { cause, message } = error;
    throw new Error(`${source.url}: ${cause instanceof Error ? cause.message : message}`, { cause: error });
  });
  const namespace = source.namespace ?? session.namespaces[0];
  if (namespace === undefined) throw new Error('the token has no namespace; pass --namespace');
  if (target !== null && secret === null)
    print('Forwards without signatures, which the console does not show: add --secret-file to sign.');

  const inbox = createInbox({ target, print, now: systemClock.date });
  const take = async (delivery: DeliveryDetail) => {
    const { id, endpoint, body } = delivery;
    const note = endpoint ?? 'callback';
    if (body === null) print(`${id}, ${note}: its payload is no longer kept`);
    else {
      const bytes = Buffer.from(body);
      await inbox.take({ headers: writeHeaders(delivery, bytes, secret), body: bytes }, note);
    }
  };
  const { endpoint } = source;
  const feed = await openFeed({ client, namespace, endpoint, take, print, clock: systemClock, signal });
  const ended = feed.follow();
  const close = async () => {
    // A read after signing out would sign in again.
    await ended.catch(() => {});
    // The session expires if the console is unreachable.
    await client.signOut().catch(() => {});
  };
  return { namespace, replay: inbox.replay, ended, close };
}

/** Headers of a new attempt by Berth; without a secret there are no signatures. */
export function writeHeaders(
  { id, eventId, type }: Pick<DeliveryDetail, 'id' | 'eventId' | 'type'>,
  body: Buffer,
  secret: string | null,
): Record<string, string> {
  const now = systemClock.date().getTime();
  const secrets = { current: secret ?? '', previous: null };
  const headers = writeDeliveryHeaders({
    id,
    eventId,
    type,
    timestamp: Math.floor(now / 1_000),
    serviceSignature: signDelivery(body, secrets, now),
    standardSignature: signMessage({ id: eventId, body }, secrets, now),
  });
  return Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => secret !== null || !SIGNATURES.includes(name)),
  );
}

const SIGNATURES = ['x-service-signature', 'webhook-signature'];

/** A file that can be read only once, such as a pipe, keeps its token. */
function createTokenReader(file: string | null, token: string | null): () => string {
  if (file === null) {
    if (!token)
      throw new Error('the console needs a token: name a file with --token-file, or set BERTH_TOKEN');
    return () => token;
  }
  let last = readFile(file, '--token-file');
  return () => {
    last = readTextFile(file) ?? last;
    return last;
  };
}

function readSecret(path: string): string {
  const secret = readFile(path, '--secret-file');
  if (!decodeSigningSecret(secret))
    throw new Error(`--secret-file: the secret in ${path} ${SIGNING_SECRET_RULE}`);
  return secret;
}

function readFile(path: string, option: string): string {
  const text = readTextFile(path);
  if (text === undefined) throw new Error(`${option}: ${path} is missing or empty`);
  return text;
}
