/** A bucket of any S3-compatible store; the only user of the AWS SDK. */
import type { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { EgressAgentOptions } from '../egress/agent.ts';
import { BoundedHandler } from './bounded-handler.ts';
import { isBucketKey } from './object-keys.ts';
import {
  formatDisposition,
  type GetGrant,
  type ObjectFacts,
  type ObjectStore,
  type OpenedObject,
  type PutGrant,
  type SignedPut,
} from './object-store.ts';
import { probeStore } from './probe.ts';
import { classifyAnswer, classifyFailure, StorageError } from './storage-error.ts';
import { createGuardedAgents, createOwnAgents, type StoreAgents } from './store-agents.ts';

export interface S3StoreOptions {
  /** URL; AWS's own for the region if null. */
  endpoint: string | null;
  /** The store's endpoint for clients, if it differs; null = `endpoint`. */
  publicEndpoint: string | null;
  region: string;
  bucket: string;
  /** Prepended to every key as is, such as `berth/`. */
  prefix: string;
  /** false: the bucket is part of the host name. */
  pathStyle: boolean;
  accessKeyId: string;
  secretAccessKey: string;
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
/** Idle time, also within an object. */
const IDLE_TIMEOUT_MS = 30_000;
/** Other forms, such as ARNs, change the host. */
const BUCKET_NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const REGION_NAME = /^[a-z0-9-]{1,64}$/i;

export class S3Store implements ObjectStore {
  readonly bucket: string;
  readonly provider: string | null;
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

  async put(key: string, body: Buffer, contentType: string): Promise<void> {
    const command = new PutObjectCommand({
      ...this.#place(key),
      Body: body,
      ContentType: contentType,
      ContentLength: body.length,
    });
    await this.#ask(() => this.#client.send(command));
  }

  async get(key: string): Promise<OpenedObject | null> {
    const command = new GetObjectCommand(this.#place(key));
    const answer = await this.#find(() => this.#client.send(command));
    return answer && { ...readFacts(answer), body: answer.Body as Readable };
  }

  async head(key: string): Promise<ObjectFacts | null> {
    const command = new HeadObjectCommand(this.#place(key));
    const answer = await this.#find(() => this.#client.send(command));
    return answer && readFacts(answer);
  }

  async delete(key: string): Promise<void> {
    const command = new DeleteObjectCommand(this.#place(key));
    await this.#find(() => this.#client.send(command));
  }

  verify(): Promise<void> {
    return probeStore(this);
  }

  close(): void {
    this.#client.destroy();
    this.#publicClient.destroy();
    this.#agents.close();
  }

  #place(key: string): { Bucket: string; Key: string } {
    if (!isBucketKey(key)) throw new RangeError(`"${key}" is not a valid object key`);
    return { Bucket: this.bucket, Key: this.#options.prefix + key };
  }

  /** null if there is no such object. */
  async #find<Answer>(send: () => Promise<Answer>): Promise<Answer | null> {
    try {
      return await this.#ask(send);
    } catch (error) {
      const { cause } = error as StorageError;
      // The response to HEAD has no body, so it cannot distinguish a missing bucket from a missing object.
      const isMissing = cause instanceof S3ServiceException && /^(NoSuchKey|NotFound)$/.test(cause.name);
      if (isMissing) return null;
      throw error;
    }
  }

  async #ask<Answer>(send: () => Promise<Answer>): Promise<Answer> {
    try {
      return await send();
    } catch (error) {
      throw new StorageError(readReason(error), error);
    }
  }
}

function createClient(options: S3StoreOptions, endpoint: string | null, agents: StoreAgents): S3Client {
  return new S3Client({
    endpoint: endpoint ?? undefined,
    region: options.region,
    forcePathStyle: options.pathStyle,
    credentials: { accessKeyId: options.accessKeyId, secretAccessKey: options.secretAccessKey },
    // Many S3-compatible stores support none of the newer checksums, and a signed link could not carry one.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
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

const readFacts = ({
  ContentType,
  ContentLength,
}: Pick<GetObjectCommandOutput, 'ContentType' | 'ContentLength'>): ObjectFacts => ({
  contentType: ContentType ?? 'application/octet-stream',
  contentLength: ContentLength ?? 0,
});
