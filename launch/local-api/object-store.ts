/** The objects of `make run`: those of its files, and those that were written since, which outlive a restart. */
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { refuseName, StatusError } from './api-status.ts';
import { type LocalObject, parseObject, RESOURCES } from './resources.ts';

interface Entry {
  object: LocalObject;
  /** Whether it is of the files, which bring it again at the next start. */
  isGiven: boolean;
}

export class ObjectStore {
  readonly #file: string;
  readonly #entries = new Map<string, Entry>();
  #version = 0;

  /** `file`: JSON of the written objects; made with the first write. */
  constructor(file: string) {
    this.#file = file;
  }

  /** Puts in what the files say. */
  give(plural: string, object: LocalObject): void {
    this.#put(plural, object, true);
  }

  /** Puts in what was written in an earlier run, but for what the files have by the same name. */
  restore(): void {
    for (const [plural, value] of readFile(this.#file)) {
      const { namespace, name } = value.metadata;
      if (!(plural in RESOURCES) || this.#entries.has(keyOf(plural, namespace, name))) continue;
      try {
        this.#put(plural, parseObject(plural, value), false);
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        console.error(`${this.#file}: ${error.message}`);
      }
    }
  }

  list(plural: string, namespace?: string): LocalObject[] {
    return [...this.#entries]
      .filter(([key]) => key.startsWith(`${plural}/${namespace === undefined ? '' : `${namespace}/`}`))
      .map(([, { object }]) => object)
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  find(plural: string, namespace: string, name: string): LocalObject | undefined {
    return this.#entries.get(keyOf(plural, namespace, name))?.object;
  }

  /** Throws StatusError 404. */
  get(plural: string, namespace: string, name: string): LocalObject {
    const object = this.find(plural, namespace, name);
    if (!object) throw refuseName(plural, name);
    return object;
  }

  /** Throws StatusError 409, 422. */
  create(plural: string, value: LocalObject): LocalObject {
    const object = parseObject(plural, value);
    const { namespace, name } = object.metadata;
    if (this.find(plural, namespace, name))
      throw new StatusError(409, 'AlreadyExists', `${plural} "${name}" already exists`);
    const { resourceVersion: _, uid: __, ...metadata } = object.metadata;
    const made = this.#put(plural, { ...object, metadata: { ...metadata, uid: '', generation: 0 } }, false);
    this.#save();
    return made;
  }

  /** Replaces what is there. Throws StatusError 404, 409 for an old version, 422. */
  update(plural: string, value: LocalObject): LocalObject {
    const before = this.get(plural, value.metadata.namespace, value.metadata.name);
    const { resourceVersion } = value.metadata;
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      throw new StatusError(
        409,
        'Conflict',
        'the object has been modified; please apply your changes to the latest version',
      );
    const object = parseObject(plural, value);
    requireSameId(object, before);
    const { uid, creationTimestamp, generation } = before.metadata;
    const isNew = !isDeepStrictEqual(object.spec, before.spec);
    const metadata = { ...object.metadata, uid, creationTimestamp, generation: generation + (isNew ? 1 : 0) };
    const made = this.#put(plural, { ...object, metadata }, false);
    this.#save();
    return made;
  }

  /** Throws StatusError 404. */
  remove(plural: string, namespace: string, name: string): LocalObject {
    const object = this.get(plural, namespace, name);
    this.#entries.delete(keyOf(plural, namespace, name));
    this.#save();
    return object;
  }

  #put(plural: string, object: LocalObject, isGiven: boolean): LocalObject {
    const { metadata } = object;
    const stamped = {
      ...object,
      metadata: {
        ...metadata,
        uid: metadata.uid || randomUUID(),
        generation: metadata.generation || 1,
        resourceVersion: String(++this.#version),
        creationTimestamp: metadata.creationTimestamp ?? new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
      },
    };
    this.#entries.set(keyOf(plural, metadata.namespace, metadata.name), { object: stamped, isGiven });
    return stamped;
  }

  #save(): void {
    const written = [...this.#entries]
      .filter(([, { isGiven }]) => !isGiven)
      .map(([key, { object }]) => [key.split('/')[0], object]);
    writeFileSync(this.#file, JSON.stringify(written, null, 2), { mode: 0o600 });
  }
}

const keyOf = (plural: string, namespace: string, name: string): string => `${plural}/${namespace}/${name}`;

function requireSameId(object: LocalObject, before: LocalObject): void {
  const idOf = ({ spec }: LocalObject) => (spec as { id?: number } | undefined)?.id;
  if (idOf(object) === idOf(before)) return;
  const message = 'id is immutable';
  throw new StatusError(
    422,
    'Invalid',
    `${object.kind} "${object.metadata.name}" is invalid: spec.id: ${message}`,
    [{ field: 'spec.id', message }],
  );
}

function readFile(path: string): [string, LocalObject][] {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as [string, LocalObject][];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
