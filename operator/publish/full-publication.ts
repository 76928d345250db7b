/** A full publication's steps around writing each target: an epoch, and the removal of what is obsolete. */
import { randomUUID } from 'node:crypto';
import { workspaceRedisUser } from '../../api/identity.ts';
import type { DeploymentName } from '../../api/names.ts';
import { configKeys } from '../../api/redis-keys.ts';
import { restoreBudgets } from '../../redis/admission/budgets.ts';
import { libraryIsLoaded, loadLibrary } from '../../redis/library.ts';
import {
  beginEpoch,
  completeEpoch,
  publishHosts,
  removeDeployment,
} from '../../redis/publication/publication.ts';
import { readEpoch, readHosts, readWorkspaces } from '../../redis/publication/published.ts';
import { listWorkspaceUsers, removeWorkspaceUser } from '../../redis/workspaces/users.ts';
import type { Writer, WriterSettings } from './writing.ts';

export class FullPublication {
  readonly #settings: Pick<WriterSettings, 'redis' | 'desired' | 'users' | 'now'>;
  readonly #writer: Pick<Writer, 'noteHost' | 'removeWorkspace'>;
  /** Namespaces that could not be read at the last one. */
  #unseen: ReadonlySet<string> = new Set();
  /** Namespaces whose budgets are not restored since Redis lost its data. */
  #unrestored = new Set<string>();

  constructor(
    settings: Pick<WriterSettings, 'redis' | 'desired' | 'users' | 'now'>,
    writer: Pick<Writer, 'noteHost' | 'removeWorkspace'>,
  ) {
    this.#settings = settings;
    this.#writer = writer;
  }

  /** Removes what the cluster no longer has, including what was missed while nobody watched. */
  async prune(): Promise<void> {
    const { redis, desired, users } = this.#settings;
    const unseen = desired.unseen();
    this.#unseen = unseen;
    const wanted = new Set([...desired.namespaces()].filter((namespace) => !unseen.has(namespace)));
    for (const namespace of await readWorkspaces(redis)) {
      if (!wanted.has(namespace) && !unseen.has(namespace)) await this.#writer.removeWorkspace(namespace);
    }
    for (const namespace of wanted) {
      const names = new Set(desired.names(namespace));
      const published = await redis.hkeys(configKeys(namespace).deployments);
      for (const name of published.filter((name) => !names.has(name)))
        await removeDeployment(redis, namespace, name);
    }
    // A missing one is written after its deployment: until then there is no routing to it, as its status shows.
    const hosts = await listKeptHosts(this.#settings);
    await publishHosts(redis, hosts);
    for (const [host, owner] of hosts) this.#writer.noteHost(owner, host);
    if (users !== 'managed') return;
    const needing = [...wanted].filter((name) => desired.needsUser(name));
    const needed = new Set([...needing, ...unseen].map(workspaceRedisUser));
    for (const user of await listWorkspaceUsers(redis)) {
      if (!needed.has(user)) await removeWorkspaceUser(redis, user);
    }
  }

  /**
   * Called before everything is written, so that `finish` sees whether Redis lost any of it. What budgets have spent is restored from
   * statuses, which stay as they are while there is no epoch; that of a namespace that cannot be read, once it can.
   */
  async begin(): Promise<void> {
    const { redis, desired, now = Date.now } = this.#settings;
    const unseen = desired.unseen();
    if ((await readEpoch(redis)) === null) {
      await beginEpoch(redis, randomUUID());
      this.#unrestored = new Set([...desired.namespaces(), ...unseen]);
    }
    for (const namespace of [...this.#unrestored].filter((each) => !unseen.has(each))) {
      await restoreBudgets(redis, namespace, { budgets: desired.budgets(namespace), at: now() });
      this.#unrestored.delete(namespace);
    }
  }

  /** Whether what a namespace's budgets have spent is in Redis, as far as it is known. */
  isRestored(namespace: string): boolean {
    return !this.#unrestored.has(namespace);
  }

  /** Called once everything is written: gateways treat Redis as unavailable until the functions are loaded. Throws if some of it was lost. */
  async finish(): Promise<void> {
    const { redis } = this.#settings;
    await loadLibrary(redis);
    if ((await readEpoch(redis)) === null) await completeEpoch(redis);
  }

  /** Whether Redis still holds what only a full publication restores, for all namespaces that are readable now. */
  async isIntact(): Promise<boolean> {
    const { redis, desired, users } = this.#settings;
    const unseen = desired.unseen();
    if ([...this.#unseen].some((namespace) => !unseen.has(namespace))) return false;
    if ((await readEpoch(redis)) === null || !(await libraryIsLoaded(redis))) return false;
    if (users !== 'managed') return true;
    const present = new Set(await listWorkspaceUsers(redis));
    const needed = [...desired.namespaces()].filter((name) => desired.needsUser(name) && !unseen.has(name));
    return needed.every((namespace) => present.has(workspaceRedisUser(namespace)));
  }
}

/** Entries to keep in Redis: they have the right owner, or belong to currently unknown deployments. */
async function listKeptHosts({
  redis,
  desired,
}: Pick<WriterSettings, 'redis' | 'desired'>): Promise<Map<string, DeploymentName>> {
  const owners = new Map<string, string>();
  const unreadable = new Set<string>();
  for (const namespace of desired.namespaces()) {
    for (const name of desired.names(namespace)) {
      const wanted = desired.deployment({ namespace, name });
      if (wanted && wanted.config === undefined) unreadable.add(`${namespace}/${name}`);
      if (wanted?.host !== undefined) owners.set(wanted.host, `${namespace}/${name}`);
    }
  }
  // A host of an object that this version cannot read stays (decision 0106).
  const unseen = desired.unseen();
  const isKept = (host: string, { namespace, name }: DeploymentName): boolean => {
    const owner = owners.get(host);
    if (owner !== undefined) return owner === `${namespace}/${name}`;
    return unseen.has(namespace) || unreadable.has(`${namespace}/${name}`);
  };
  return new Map([...(await readHosts(redis))].filter(([host, owner]) => isKept(host, owner)));
}
