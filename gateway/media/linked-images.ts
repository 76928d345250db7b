/** Replaces addresses among a request's files by the images that are there, as if they had been uploaded. */
import { readFile } from 'node:fs/promises';
import type { Shares } from '../../kit/shares.ts';
import type { EgressAgent } from '../egress/agent.ts';
import { Allowance } from '../egress/allowance.ts';
import { fetchMedium, type MediaFetch, refuseBusy } from '../egress/media-fetch.ts';
import type { Parties } from '../http/body-parsing.ts';
import { openLease } from '../http/json-body.ts';
import { refuseParameter } from '../http/parameter-error.ts';
import type { Spool } from '../storage/spool.ts';
import type { FileLimits, FormFile } from './form-parts.ts';
import { toFileRefusal } from './form-refusals.ts';

export interface LinkOptions {
  egress: Pick<EgressAgent, 'request'>;
  spool: Spool;
  /** Images that are fetched count like those of a form. */
  limits: FileLimits & { multipartBodyBytes: number };
  /** Absent = the process's. */
  memory?: Shares;
}

/** An image is in memory twice while its pieces are joined. */
const COPIES = 2;

/** Changes `files`, which are removed by the caller in any case. Throws ApiError, or ClientDisconnectedError. */
export async function fetchLinks(
  party: Parties,
  files: readonly FormFile[],
  { egress, spool, limits, memory }: LinkOptions,
): Promise<void> {
  const links = files.filter(({ isLink }) => isLink);
  if (links.length === 0) return;
  const { exchange } = party;
  const lease = openLease(party, memory);
  let isRefused = false;
  const reserve = (bytes: number) => {
    isRefused ||= !lease.tryAdd(bytes * COPIES);
    return !isRefused;
  };
  const failed = new AbortController();
  const fetch: MediaFetch = {
    agent: egress,
    shared: new Allowance(limits.multipartBodyBytes, null, reserve),
    signal: AbortSignal.any([exchange.signal, failed.signal]),
    sharedLimit: `the limit of ${limits.multipartBodyBytes} bytes for all files`,
  };
  const replacing = links.map((link) =>
    replaceLink(link, { fetch, spool, limits, tenant: lease.owner }).catch((error) => {
      failed.abort(error);
      throw error;
    }),
  );
  try {
    await Promise.all(replacing);
  } catch (error) {
    // What is still written would be left behind.
    await Promise.allSettled(replacing);
    exchange.check();
    throw isRefused ? refuseBusy() : error;
  } finally {
    lease.release();
  }
}

interface LinkReplacement {
  fetch: MediaFetch;
  spool: Spool;
  limits: FileLimits;
  tenant: string;
}

async function replaceLink(link: FormFile, { fetch, spool, limits, tenant }: LinkReplacement): Promise<void> {
  const { param, file } = link;
  const refuse = (why: string) =>
    refuseParameter(
      'invalid_value',
      param,
      `\`${param}\` ${why}. Send the image itself, as a file or a data: URL.`,
    );
  const url = await readFile(file.path, 'utf8');
  const { bytes } = await fetchMedium({ kind: 'image', url, refuse }, fetch);
  const image = await spool
    .hold(once(bytes), { maxBytes: limits.fileBytes, signal: fetch.signal, tenant })
    .catch((error: unknown) => {
      throw toFileRefusal(error, param, limits);
    });
  await file.remove();
  Object.assign(link, { file: image, isLink: false });
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
