/** How much of it: `make test-scaling-cluster` sets what the documentation tells of; less is for a first look. */
const read = (name: string, fallback: number): number => Number(process.env[name] || fallback);

export const STARTUP_SECONDS = read('STARTUP_SECONDS', 30);
/** Starts that are measured. */
export const STARTS = read('STARTS', 20);
/** At a time: on few cores, starts at once take from each other. */
export const SLEEPERS = Math.min(read('SLEEPERS', 2), STARTS);
export const TIDES = read('TIDES', 20);
export const STREAMS = read('STREAMS', 200);
export const MAX_REPLICAS = read('REPLICAS', 5);
/** Percent of each core, from 1 to 100, that something else uses during the tides. */
export const CPU_LOAD = read('CPU_LOAD', 100);
