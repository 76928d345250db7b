/** Lets the cluster's own programs and its tests run before the other stages that go on beside them. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Processes in no group have 1,024 each. */
const SHARES = 16_384;

/** For this process and all that it starts. Does nothing without control groups of version 1. */
export function claimProcessorShare(name: string): void {
  const hierarchy = '/sys/fs/cgroup/cpu';
  if (!existsSync(join(hierarchy, 'cpu.shares'))) return;
  const group = join(hierarchy, `${name}-tests`);
  mkdirSync(group, { recursive: true });
  writeFileSync(join(group, 'cpu.shares'), String(SHARES));
  writeFileSync(join(group, 'cgroup.procs'), String(process.pid));
}
