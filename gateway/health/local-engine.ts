import type { EnginePool } from '../engine/engine-call.ts';
import type { MemoryWatch } from '../engine/memory-mark.ts';
import type { WorkProgress } from './watched-dispatcher.ts';

/** The engine beside this gateway, for the parts that send it work. */
export interface LocalEngine {
  readonly url: string;
  /** Connections whose requests count for its health. */
  readonly pool: EnginePool;
  /** Connections for requests that do not affect its health. */
  unwatchedPool(): EnginePool;
  /** Work that connections do not show: a job that is submitted and polled. */
  beginWork(): WorkProgress;
  isReady(): boolean;
  /** Its work can no longer succeed. */
  isLost(): boolean;
  /** It failed a request: its health is probed. */
  suspect(): void;
  /** In tokens; null while unknown. */
  contextLength(): number | null;
  /** Whether its chat template has tools; null until it responds. */
  takesTools(): boolean | null;
  /** null: it reports itself that it ran out of memory. */
  readonly ranOutOfMemory: MemoryWatch | null;
}
