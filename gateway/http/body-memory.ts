/** The memory for request bodies of a process, shared between tenants (decision 0007). */
import { getHeapStatistics } from 'node:v8';
import { Shares } from '../../kit/shares.ts';

const MIB = 1024 * 1024;
const WAIT_MS = 5_000;
/** For a heap without an explicit limit, as on a developer's machine. */
const MAX_HEAP_BYTES = 768 * MIB;
const heapBytes = Math.min(getHeapStatistics().heap_size_limit, MAX_HEAP_BYTES);

/** Bytes. A tenant may hold twice as many as are free. */
export const openBodyMemory = (total: number, waitMs: number): Shares =>
  new Shares({ total: Math.floor(total), shareOfFree: 2, waitMs });

/**
 * Bodies are kept outside the heap, in the container's memory: a third of the heap's size leaves room for the heap itself, in
 * which they are parsed.
 */
export const processBodies = openBodyMemory(heapBytes / 3, WAIT_MS);

/** What bodies are parsed into, until it is interpreted. A body of each tenant is parsed at a time, in turns. */
export const parsedValues = openBodyMemory(heapBytes / 6, WAIT_MS);
