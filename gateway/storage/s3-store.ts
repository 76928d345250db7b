/** A bucket of any S3-compatible store. */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { StorageKeys } from '../../api/storage-keys.ts';
import { createS3Client } from '../../kit/s3-client.ts';
import type { EgressAgentOptions } from '../egress/agent.ts';
import { BoundedHandler } from './bounded-handler.ts';
import { probeBucket } from './bucket-probe.ts';
import { isBucketKey } from './object-keys.ts';
import {
  formatDisposition,
  type GetGrant,
  type ObjectStore,
  type PutGrant,
  type SignedPut,
} from './object-store.ts';
import { isPublicHost } from './public-host.ts';
import { classifyAnswer, classifyFailure, StorageError } from './storage-error.ts';
import { createGuardedAgents, createOwnAgents, type StoreAgents } from './store-agents.ts';

export interface S3StoreOptions {
  /** URL; AWS's own for the region if null. */
  endpoint: string | null;
  /** The store's endpoint for clients, if it differs; null = `endpoint`. */
  publicEndpoint: string | null;
  region: string;
  bucket: string;
  /** false: the bucket is part of the host name. */
  pathStyle: boolean;
  keys: StorageKeys;
  provider: string | null;
  /** Egress rules, if a tenant chose the endpoint; null for the administrator's own. */
  egress: EgressAgentOptions | null;
  /** Certificates (PEM) to trust instead of the system's, for the administrator's own endpoint. */
  ca?: string;
  /** From a request to its response's headers, per attempt (two). */
  answerTimeoutMs?: number;
}

const ATTEMPTS = 2;
const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_TIMEOUT_MS = 30_000;
/** Idle time. */
const IDLE_TIMEOUT_MS = 30_000;
/** Other forms, such as ARNs, change the host. */
const BUCKET_NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const REGION_NAME = /^[a-z0-9-]{1,64}$/i;

export class S3Store implements ObjectStore {
  readonly bucket: string;
  readonly provider: string | null;
  readonly isPublic: boolean;
  readonly #options: S3StoreOptions;
  readonly #agents: StoreAgents;
  readonly #client: S3Client;
  /** Signs links for clients; sends no requests. */
  readonly #publicClient: S3Client;

  /** Throws StorageError if the settings can never work. */
  constructor(options: S3StoreOptions) {
    if (!BUCKET_NAME.test(options.bucket)) throw new StorageError('bucket');
    if (!REGION_NAME.test(options.region)) throw new StorageError('region');
    this.bucket = options.bucket;
    this.provider = options.provider;
    this.#options = options;
    this.#agents = options.egress ? createGuardedAgents(options.egress) : createOwnAgents(options.ca);
    checkEndpoint(this.#agents, options);
    const endpoint = options.publicEndpoint ?? options.endpoint;
    this.isPublic = endpoint === null || isPublicHost(new URL(endpoint).hostname);
    this.#client = createClient(options, options.endpoint, this.#agents);
    this.#publicClient = options.publicEndpoint
      ? createClient(options, options.publicEndpoint, this.#agents)
      : this.#client;
  }

  async signPut({ key, contentType, contentLength, expiresInSeconds }: PutGrant): Promise<SignedPut> {
    const command = new PutObjectCommand({
      ...this.#place(key),
      ContentType: contentType,
      ContentLength: contentLength,
    });
    const url = await getSignedUrl(this.#client, command, {
      expiresIn: expiresInSeconds,
      signableHeaders: new Set(['host', 'content-type', 'content-length']),
    });
    return {
      url,
      headers: { 'content-type': contentType, 'content-length': String(contentLength) },
      isTenantHost: this.#options.egress !== null,
    };
  }

  signGet({ key, expiresInSeconds, contentType, fileName, isInternal }: GetGrant): Promise<string> {
    const command = new GetObjectCommand({
      ...this.#place(key),
      ResponseContentType: contentType,
      ResponseContentDisposition: fileName === undefined ? undefined : formatDisposition(fileName),
    });
    const client = isInternal ? this.#client : this.#publicClient;
    return getSignedUrl(client, command, { expiresIn: expiresInSeconds });
  }

  async delete(key: string): Promise<void> {
    const command = new DeleteObjectCommand(this.#place(key));
    await this.#ask('DeleteObject', () => this.#client.send(command)).catch((error: StorageError) => {
      const { cause } = error;
      const isMissing = cause instanceof S3ServiceException && /^(NoSuchKey|NotFound)$/.test(cause.name);
      if (!isMissing) throw error;
    });
  }

  /** By real operations on a small object below `prefix`, which is then removed. Throws StorageError. */
  verify(prefix = ''): Promise<void> {
    return probeBucket(
      {
        agents: this.#agents,
        isAddressedByHost: !this.#options.pathStyle,
        findName: (start) => this.#findName(start),
        signPut: (grant) => this.signPut(grant),
        signGet: (grant) => this.signGet({ ...grant, isInternal: true }),
        delete: (key) => this.delete(key),
      },
      prefix,
    );
  }

  async #findName(start: string): Promise<string | undefined> {
    const { Bucket, Key: Prefix } = this.#place(start);
    const command = new ListObjectsV2Command({ Bucket, Prefix, MaxKeys: 1 });
    return (await this.#ask('ListObjectsV2', () => this.#client.send(command))).Name;
  }

  close(): void {
    this.#client.destroy();
    this.#publicClient.destroy();
    this.#agents.close();
  }

  #place(key: string): { Bucket: string; Key: string } {
    if (!isBucketKey(key)) throw new RangeError(`"${key}" is not a valid object key`);
    return { Bucket: this.bucket, Key: key };
  }

  async #ask<Answer>(call: string, send: () => Promise<Answer>): Promise<Answer> {
    try {
      return await send();
    } catch (error) {
      const reason = readReason(error);
      throw new StorageError(reason, error, reason === 'unsupported' ? call : undefined);
    }
  }
}

function createClient(options: S3StoreOptions, endpoint: string | null, agents: StoreAgents): S3Client {
  const { region, pathStyle, keys } = options;
  return createS3Client({
    endpoint,
    region,
    pathStyle,
    keys,
    maxAttempts: ATTEMPTS,
    requestHandler: new BoundedHandler({
      httpAgent: agents.http,
      httpsAgent: agents.https,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      socketTimeout: IDLE_TIMEOUT_MS,
    }),
  });
}

function checkEndpoint(agents: StoreAgents, { endpoint, publicEndpoint }: S3StoreOptions): void {
  for (const url of [endpoint, publicEndpoint])
    if (url !== null)
      try {
        agents.check(url);
      } catch (error) {
        agents.close();
        throw new StorageError(classifyFailure(error), error);
      }
}

function readReason(error: unknown) {
  if (!(error instanceof S3ServiceException)) return classifyFailure(error);
  return classifyAnswer(error.$metadata.httpStatusCode ?? 0, error.name);
}
