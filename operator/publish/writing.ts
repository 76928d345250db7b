/** Writes one target, or everything, into Redis. Whatever fails throws; the publisher tries again. */
import { randomUUID } from 'node:crypto';
import {
  workspaceDataKey,
  workspacePrefix,
  workspaceRedisPassword,
  workspaceRedisUser,
} from '../../contract/identity.ts';
import { configKeys, type PublishedEndpoint } from '../../contract/redis-keys.ts';
import type { RedisClient } from '../../redis/client.ts';
import { readServerHealth } from '../../redis/durability.ts';
import { libraryIsLoaded, loadLibrary } from '../../redis/library.ts';
import {
  beginEpoch,
  completeEpoch,
  publishApiKeys,
  publishCredentials,
  publishDeployment,
  publishEndpoints,
  publishHost,
  publishHosts,
  publishReplicas,
  publishRequestPrefix,
  publishWorkspace,
  removeDeployment,
  removeHost,
  removeRequestPrefix,
  removeWorkspace,
} from '../../redis/publication.ts';
import {
  isKnownPrefix,
  readCredentials,
  readEpoch,
  readHosts,
  readWorkspaces,
} from '../../redis/published.ts';
import { ensureWorkspaceUser, listWorkspaceUsers, removeWorkspaceUser } from '../../redis/users.ts';
import { readEndpoints } from '../../redis/webhook-settings.ts';
import type { Catalogue, DeploymentName } from './catalogue.ts';
import type { Target } from './targets.ts';

export interface WriterSettings {
  redis: RedisClient;
  catalogue: Catalogue;
  /** `managed`: a user for each namespace is made here; else somebody else does, or there is one for all. */
  users: 'managed' | 'external' | 'off';
  masterKey: string;
  /** Let requests be queued on a Redis that may lose them. */
  allowVolatileQueue: boolean;
  /** The host that Redis holds for a deployment became another one, or none. */
  onHostChange?: (name: DeploymentName) => void;
}

export class Writer {
  readonly #settings: WriterSettings;
  /** Host last written for a deployment, so that a changed one is taken back. */
  readonly #hosts = new Map<string, string>();
  #asyncRefusal: string | null = null;
  /** As of the last full publication. */
  #unseen: ReadonlySet<string> = new Set();

  constructor(settings: WriterSettings) {
    this.#settings = settings;
  }

  /** Why nothing may be queued on this Redis, as last judged; null = it may. */
  get asyncRefusal(): string | null {
    return this.#asyncRefusal;
  }

  /** Judges the server anew; true when gateways have to be told. Figures within the reason change all the time. */
  async judgeServer(): Promise<boolean> {
    const { redis, allowVolatileQueue } = this.#settings;
    const refusal = await readServerHealth(redis, { allowLoss: allowVolatileQueue });
    const withoutFigures = (reason: string | null) => reason?.replace(/\d+/g, '') ?? null;
    if (withoutFigures(refusal) === withoutFigures(this.#asyncRefusal)) return false;
    this.#asyncRefusal = refusal;
    return true;
  }

  /** The host under which the front knows a deployment, as last written. */
  hostOf({ namespace, name }: DeploymentName): string | undefined {
    return this.#hosts.get(`${namespace}/${name}`);
  }

  async write(target: Target): Promise<void> {
    const { redis, catalogue } = this.#settings;
    if (catalogue.unseen().has(target.namespace)) return;
    if (target.what === 'deployment') return this.#writeDeployment(target);
    if (target.what === 'apikeys') {
      await publishApiKeys(redis, target.namespace, catalogue.apiKeys(target.namespace));
      return;
    }
    if (target.what === 'credentials') return this.#writeCredentials(target.namespace);
    if (target.what === 'endpoints') return this.#writeEndpoints(target.namespace);
    await this.#writeUser(target.namespace);
    if (!catalogue.knows(target.namespace)) {
      await this.#removeWorkspace(target.namespace);
      return;
    }
    const prefix = this.#prefixOf(target.namespace);
    if (!(await isKnownPrefix(redis, prefix))) await publishRequestPrefix(redis, prefix);
    await publishWorkspace(redis, target.namespace, {
      creditMicros: catalogue.creditMicros(target.namespace),
      asyncRefusal: this.#asyncRefusal,
      ownerEmail: catalogue.ownerEmail(target.namespace),
      signingSecret: this.#sealable(target.namespace),
    });
  }

  /** Takes a deployment out of Redis: host, configuration, addresses, heartbeats. */
  async remove({ namespace, name }: DeploymentName): Promise<void> {
    const { redis } = this.#settings;
    const key = `${namespace}/${name}`;
    const host = this.#hosts.get(key);
    if (host !== undefined) await removeHost(redis, host, { namespace, name });
    this.#noteHost({ namespace, name }, undefined);
    await removeDeployment(redis, namespace, name);
  }

  /** What the cluster no longer has goes; what was missed while nobody watched with it. */
  async prune(): Promise<void> {
    const { redis, catalogue, users } = this.#settings;
    const unseen = catalogue.unseen();
    this.#unseen = unseen;
    const wanted = new Set([...catalogue.namespaces()].filter((namespace) => !unseen.has(namespace)));
    for (const namespace of await readWorkspaces(redis)) {
      if (!wanted.has(namespace) && !unseen.has(namespace)) await this.#removeWorkspace(namespace);
    }
    for (const namespace of wanted) {
      const names = new Set(catalogue.names(namespace));
      const published = await redis.hkeys(configKeys(namespace).deployments);
      for (const name of published.filter((name) => !names.has(name)))
        await removeDeployment(redis, namespace, name);
    }
    const hosts = await this.#collectHosts();
    await publishHosts(redis, hosts);
    for (const [host, name] of hosts) this.#noteHost(name, host);
    if (users !== 'managed') return;
    const needing = [...wanted].filter((name) => catalogue.needsUser(name));
    const needed = new Set([...needing, ...unseen].map(workspaceRedisUser));
    for (const user of await listWorkspaceUsers(redis)) {
      if (!needed.has(user)) await removeWorkspaceUser(redis, user);
    }
  }

  /** Called before all is written, so that `finish` sees whether Redis lost any of it. */
  async begin(): Promise<void> {
    const { redis } = this.#settings;
    if ((await readEpoch(redis)) === null) await beginEpoch(redis, randomUUID());
  }

  /** Called once all is written: gateways answer "away" until the functions are there. Throws where some of it was lost. */
  async finish(): Promise<void> {
    const { redis } = this.#settings;
    await loadLibrary(redis);
    if ((await readEpoch(redis)) === null) await completeEpoch(redis);
  }

  /** Whether Redis still holds what only a full publication brings back, of all that can be seen by now. */
  async isIntact(): Promise<boolean> {
    const { redis, catalogue, users } = this.#settings;
    const unseen = catalogue.unseen();
    if ([...this.#unseen].some((namespace) => !unseen.has(namespace))) return false;
    if ((await readEpoch(redis)) === null || !(await libraryIsLoaded(redis))) return false;
    if (users !== 'managed') return true;
    const present = new Set(await listWorkspaceUsers(redis));
    const needed = [...catalogue.namespaces()].filter(
      (name) => catalogue.needsUser(name) && !unseen.has(name),
    );
    return needed.every((namespace) => present.has(workspaceRedisUser(namespace)));
  }

  async #writeDeployment(name: DeploymentName): Promise<void> {
    const { redis, catalogue } = this.#settings;
    const wanted = catalogue.deployment(name);
    if (wanted === undefined) return this.remove(name);
    const key = `${name.namespace}/${name.name}`;
    const before = this.#hosts.get(key);
    if (wanted.config !== undefined) await publishDeployment(redis, wanted.config);
    await publishReplicas(redis, name.namespace, name.name, wanted.addresses);
    if (wanted.config === undefined) return;
    if (before !== undefined && before !== wanted.host) {
      await removeHost(redis, before, name);
    }
    if (wanted.host !== undefined) await publishHost(redis, wanted.host, name);
    this.#noteHost(name, wanted.host);
  }

  #noteHost({ namespace, name }: DeploymentName, host: string | undefined): void {
    const key = `${namespace}/${name}`;
    const before = this.#hosts.get(key);
    if (host === undefined) this.#hosts.delete(key);
    else this.#hosts.set(key, host);
    if (before !== host) this.#settings.onHostChange?.({ namespace, name });
  }

  async #removeWorkspace(namespace: string): Promise<void> {
    const { redis } = this.#settings;
    await removeWorkspace(redis, namespace);
    await removeRequestPrefix(redis, this.#prefixOf(namespace));
  }

  #prefixOf(namespace: string): string {
    return workspacePrefix(this.#settings.masterKey, namespace);
  }

  /** Of a credential whose Secret was not read yet, such as after a restart, what is there stays. */
  async #writeCredentials(namespace: string): Promise<void> {
    const { redis, catalogue } = this.#settings;
    const wanted = catalogue.credentials(namespace);
    const isUnknown = wanted.some(({ entry }) => entry === undefined);
    const present = isUnknown ? await readCredentials(redis, namespace) : [];
    const entries = wanted.map(({ name, entry }) =>
      entry === undefined ? present.find((credential) => credential.name === name) : entry,
    );
    await publishCredentials(
      redis,
      namespace,
      entries.filter((entry) => entry !== undefined && entry !== null),
    );
  }

  /** Of an endpoint that was not reconciled yet, what is there stays. */
  async #writeEndpoints(namespace: string): Promise<void> {
    const { redis, catalogue } = this.#settings;
    const wanted = catalogue.endpoints(namespace);
    const isUnknown = wanted.some(({ entry }) => entry === undefined);
    const present = isUnknown ? await readEndpoints(redis, namespace) : new Map<string, never>();
    const entries = wanted.flatMap(({ name, entry = present.get(name) }): [string, PublishedEndpoint][] =>
      entry ? [[name, entry]] : [],
    );
    await publishEndpoints(redis, namespace, new Map(entries));
  }

  #sealable(namespace: string) {
    const { catalogue, masterKey } = this.#settings;
    const secret = catalogue.signingSecret(namespace);
    return typeof secret === 'string' ? { secret, dataKey: workspaceDataKey(masterKey, namespace) } : secret;
  }

  async #writeUser(namespace: string): Promise<void> {
    const { redis, catalogue, users, masterKey } = this.#settings;
    if (users !== 'managed') return;
    const username = workspaceRedisUser(namespace);
    if (!catalogue.needsUser(namespace)) {
      await removeWorkspaceUser(redis, username);
      return;
    }
    await ensureWorkspaceUser(redis, {
      namespace,
      username,
      password: workspaceRedisPassword(masterKey, namespace),
    });
  }

  async #collectHosts(): Promise<Map<string, DeploymentName>> {
    const { redis, catalogue } = this.#settings;
    const hosts = new Map<string, DeploymentName>();
    const unreadable = new Set<string>();
    for (const namespace of catalogue.namespaces()) {
      for (const name of catalogue.names(namespace)) {
        const wanted = catalogue.deployment({ namespace, name });
        if (wanted && wanted.config === undefined) unreadable.add(`${namespace}/${name}`);
        if (wanted?.host !== undefined) hosts.set(wanted.host, { namespace, name });
      }
    }
    const unseen = catalogue.unseen();
    if (unreadable.size + unseen.size === 0) return hosts;
    for (const [host, owner] of await readHosts(redis)) {
      const isUnknown = unseen.has(owner.namespace) || unreadable.has(`${owner.namespace}/${owner.name}`);
      if (isUnknown && !hosts.has(host)) hosts.set(host, owner);
    }
    return hosts;
  }
}
