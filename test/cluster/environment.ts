/** What the bundled cluster takes from the environment. */
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Holds what is costly to make: binaries, images, the state of clusters. Never inside the checkout. */
export const CACHE_FOLDER = process.env.BERTH_CACHE ?? join(homedir(), '.cache', 'berth');
