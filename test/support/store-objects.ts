/** Objects of a store, put and read through its links, as gateways and clients do. */
import type { ObjectStore } from '../../gateway/storage/object-store.ts';

const LINK_SECONDS = 60;

export interface ObjectFacts {
  contentType: string;
  contentLength: number;
}

export async function putObject(
  store: Pick<ObjectStore, 'signPut'>,
  key: string,
  body: Buffer,
  contentType: string,
): Promise<void> {
  const size = { contentType, contentLength: body.length };
  const { url } = await store.signPut({ key, ...size, expiresInSeconds: LINK_SECONDS });
  const headers = { 'content-type': contentType };
  const answer = await fetch(url, { method: 'PUT', headers, body: new Uint8Array(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`the store answered ${answer.status} to a put of ${key}: ${text}`);
}

/** null if there is no such object; the body must be read, or canceled. */
export async function getObject(
  store: Pick<ObjectStore, 'signGet'>,
  key: string,
): Promise<(ObjectFacts & { body: AsyncIterable<Uint8Array> }) | null> {
  const answer = await fetch(await store.signGet({ key, expiresInSeconds: LINK_SECONDS }));
  if (answer.ok)
    return {
      contentType: answer.headers.get('content-type')!,
      contentLength: Number(answer.headers.get('content-length')),
      body: answer.body ?? toIterable(),
    };
  const text = await answer.text();
  if (answer.status === 404) return null;
  throw new Error(`the store answered ${answer.status} to a get of ${key}: ${text}`);
}

export async function headObject(
  store: Pick<ObjectStore, 'signGet'>,
  key: string,
): Promise<ObjectFacts | null> {
  const found = await getObject(store, key);
  if (!found) return null;
  const { body, ...facts } = found;
  for await (const _ of body) break;
  return facts;
}

export async function readText(store: Pick<ObjectStore, 'signGet'>, key: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await getObject(store, key))!.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function* toIterable(): AsyncGenerator<Uint8Array> {}
