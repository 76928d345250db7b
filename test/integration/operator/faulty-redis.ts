/** A real Redis behind a bad line: each command takes its time, and some fail before or after they were carried out. */
import type { RedisClient, RedisConnection } from '../../../redis/client.ts';

export interface Line {
  /** Chance of a command to fail. */
  faults: number;
  /** At most, of each command; most of them are far faster. */
  lagMs: number;
  /** Called when a transaction was carried out; what it throws comes in place of the answer. */
  onTransaction?: () => Promise<void>;
}

export function connectBadly(connection: RedisConnection, line: Line, random: () => number): RedisConnection {
  const carry = async <T>(send: () => Promise<T>): Promise<T> => {
    await new Promise((resolve) => setTimeout(resolve, random() ** 6 * line.lagMs));
    const drawn = random();
    if (drawn < line.faults / 2) throw new Error('Connection is closed.');
    const reply = await send();
    if (drawn < line.faults) throw new Error('Command timed out');
    return reply;
  };
  const redis = new Proxy(connection.redis, {
    get(target, property) {
      const member = Reflect.get(target, property) as unknown;
      if (typeof member !== 'function') return member;
      const method = member.bind(target) as (...args: unknown[]) => unknown;
      if (['on', 'off', 'once', 'removeListener', 'duplicate'].includes(String(property))) return method;
      if (property === 'multi' || property === 'pipeline')
        return () => {
          const batch = method() as ReturnType<RedisClient['multi']>;
          const exec = batch.exec.bind(batch);
          batch.exec = async () => {
            const reply = await carry(exec);
            await line.onTransaction?.();
            return reply;
          };
          return batch;
        };
      return (...args: unknown[]) => carry(async () => method(...args));
    },
  });
  return new Proxy(connection, {
    get(target, property) {
      if (property === 'redis') return redis;
      const member = Reflect.get(target, property) as unknown;
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
