/** The feeds of all users: one per session and namespace, while it has listeners. */
import type { AnnouncedTopic } from '../../api.ts';
import { StreamSlots } from '../http/stream-slots.ts';
import type { KubernetesStreams } from '../kubernetes/streams.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { Feed, type LiveListener } from './feed.ts';

const MAX_LISTENERS = { each: 20, all: 1_000 };

export class Feeds {
  readonly #streams: KubernetesStreams;
  readonly #sessions: Pick<Sessions, 'isOpen'>;
  readonly #feeds = new Map<string, Feed>();
  /** The same. */
  readonly #byNamespace = new Map<string, Set<Feed>>();
  readonly #slots = new StreamSlots(MAX_LISTENERS);

  constructor(streams: KubernetesStreams, sessions: Pick<Sessions, 'isOpen'>) {
    this.#streams = streams;
    this.#sessions = sessions;
  }

  /** Returns the unsubscribe function. Throws rate_limit_exceeded. */
  listen(session: Session, namespace: string, listener: LiveListener): () => void {
    const { user, digest } = session;
    const release = this.#slots.take(user);
    const key = `${digest} ${namespace}`;
    const feed = this.#feeds.get(key) ?? this.#open(key, namespace, session);
    const leave = feed.listen(listener);
    return () => {
      leave();
      release();
      if (!feed.isUnused || this.#feeds.get(key) !== feed) return;
      this.#feeds.delete(key);
      const others = this.#byNamespace.get(namespace);
      others?.delete(feed);
      if (others?.size === 0) this.#byNamespace.delete(namespace);
      feed.close();
    };
  }

  /** Redis announced that these changed in a namespace. */
  announce(namespace: string, topics: readonly AnnouncedTopic[]): void {
    for (const feed of this.#byNamespace.get(namespace) ?? []) feed.announce(topics);
  }

  #open(key: string, namespace: string, session: Session): Feed {
    // A feed outlives its first request and token.
    const readToken = async () => {
      await this.#sessions.isOpen(session);
      return session.token;
    };
    const feed = new Feed({ streams: this.#streams, readToken, namespace });
    this.#feeds.set(key, feed);
    const others = this.#byNamespace.get(namespace) ?? new Set();
    this.#byNamespace.set(namespace, others.add(feed));
    return feed;
  }

  close(): void {
    for (const feed of this.#feeds.values()) feed.close();
    this.#feeds.clear();
    this.#byNamespace.clear();
  }
}
