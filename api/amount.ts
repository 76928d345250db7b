/** Money as its millionths, the unit in which credit is counted; without zod, since gateways load it. */

/** Millionths of an amount, an integer: the unit in which credit is counted. */
export function parseAmount(text: string): number {
  return Math.round(Number(text) * 1_000_000);
}

/** The decimal string of an amount in millionths. */
export function formatAmount(micros: number): string {
  return (micros / 1_000_000).toFixed(6).replace(/\.?0+$/, '');
}
