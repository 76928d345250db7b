/** How many cores were busy between two readings of `os.cpus()`, on average. */
import type { CpuInfo } from 'node:os';

export function countBusyCores(before: readonly CpuInfo[], after: readonly CpuInfo[]): number {
  const shares = after.map(({ times }, core) => {
    const earlier = before[core]?.times ?? times;
    const total = sum(times) - sum(earlier);
    return total > 0 ? 1 - (times.idle - earlier.idle) / total : 0;
  });
  return shares.reduce((busy, share) => busy + share, 0);
}

const sum = (times: CpuInfo['times']): number => Object.values(times).reduce((total, ms) => total + ms, 0);
