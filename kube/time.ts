/** Times of Kubernetes objects: strings on the wire, and dates where a typed client has parsed them. */

/** Unix milliseconds; 0 where there is no time. */
export const toMillis = (time: string | Date | undefined): number =>
  time === undefined ? 0 : new Date(time).getTime();

/** Whole seconds, as in metadata and conditions: anything finer would look like a change each time. */
export const formatTime = (at: Date): string => at.toISOString().replace(/\.\d+Z$/, 'Z');

/** A MicroTime: exactly six digits of a second, or the API server answers 400. */
export const formatMicroTime = (at: Date): string => at.toISOString().replace('Z', '000Z');
