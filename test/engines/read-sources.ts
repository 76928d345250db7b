/** Engines that cannot run here: which version of their sources was read, for what, and when. */
import type { EnginePreset } from '../../api/engine-presets.ts';

export interface ReadSource {
  engine: EnginePreset;
  /** Whose source was read. */
  version: string;
  /** Why it is not run. */
  reason: string;
  /** What was checked in it. */
  read: string;
  /** At which that was recorded. */
  commit: string;
  /** `2026-11-23`. */
  date: string;
}

export const READ_SOURCES: readonly ReadSource[] = [
  {
    engine: 'tei',
    version: '1.9.3',
    reason: 'no package has it',
    read: 'flags, limits, health',
    commit: '07e0458e',
    date: '2026-11-22',
  },
];
