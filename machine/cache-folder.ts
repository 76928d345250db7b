import { homedir } from 'node:os';
import { join } from 'node:path';

/** Holds what is costly to make: binaries, images, packages, the state of clusters. Never inside the checkout. */
export const CACHE_FOLDER = process.env.BERTH_CACHE ?? join(homedir(), '.cache', 'berth');
