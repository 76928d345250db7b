/** A fake of Redis for tests of sessions. */
/** Keeps its values in one map, and can be unavailable; `onPublish` receives every published message. */
export function makeRedis() {
  const held = new Map<string, string>();
  const redis = { isAway: false, held, get, set, del, exists, multi, onPublish: (_digest: string) => {} };
  const check = () => {
    if (redis.isAway) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  };
  async function get(key: string): Promise<string | null> {
    check();
    return held.get(key) ?? null;
  }
  async function set(key: string, value: string, ...options: unknown[]): Promise<'OK' | null> {
    check();
    if (options.includes('NX') && held.has(key)) return null;
    if (options.includes('XX') && !held.has(key)) return null;
    held.set(key, value);
    return 'OK';
  }
  async function del(key: string): Promise<void> {
    check();
    held.delete(key);
  }
  async function exists(key: string): Promise<number> {
    check();
    return held.has(key) ? 1 : 0;
  }
  function multi() {
    const steps: (() => void)[] = [];
    const batch = {
      del: (key: string) => plan(() => held.delete(key)),
      publish: (_: string, digest: string) => plan(() => redis.onPublish(digest)),
      exec: async () => {
        check();
        return steps.map((step) => [null, step()]);
      },
    };
    const plan = (step: () => void) => {
      steps.push(step);
      return batch;
    };
    return batch;
  }
  return redis;
}
