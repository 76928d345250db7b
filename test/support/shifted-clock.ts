/** Has this process take another time for now, as on a machine whose clock is wrong. Returns what ends that. */
export function shiftClock(ms: number): () => void {
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...parts: [] | [number]) {
      if (parts.length > 0) super(...(parts as [number]));
      else super(RealDate.now() + ms);
    }

    static override now(): number {
      return RealDate.now() + ms;
    }
  } as DateConstructor;
  return () => {
    globalThis.Date = RealDate;
  };
}
