import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Caches what is expensive to create: binaries, images, packages, the state of clusters. Never inside the checkout. */
export const CACHE_FOLDER = resolve(process.env.BERTH_CACHE || join(homedir(), '.cache', 'berth'));
