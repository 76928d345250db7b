/** Times of Kubernetes objects, which arrive as strings or as dates, and how long ago they are. */

export type KubernetesTime = string | Date | undefined;

/** Unix milliseconds; 0 where there is no time. */
export const toMillis = (time: KubernetesTime): number => (time === undefined ? 0 : new Date(time).getTime());

/** `40 s`, `4 min`, `2 h 5 min`: seconds only under a minute, so that a status does not change each second. */
export function describeSpan(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return 'less than a minute';
  if (minutes < 60) return `${minutes} min`;
  const rest = minutes % 60;
  return rest === 0 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 60)} h ${rest} min`;
}
