/** A time as Kubernetes' MicroTime wants it: exactly six digits of a second, or the API server answers 400. */
export function formatMicroTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}
