/** Cuts a file into its lines as it arrives; of a line that is too long nothing is kept. */

export interface Line {
  /** Offsets in the file, without the line break. */
  start: number;
  end: number;
  /** From 1 on. */
  number: number;
  /** null: longer than allowed. Valid until the next line is asked for. */
  bytes: Buffer | null;
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Empty lines are left out. Holds at most one line and one piece of the source. */
export async function* readLines(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Line> {
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let start = 0;
  let position = 0;
  let number = 1;
  const cut = (end: number): Line | null => {
    const isTooLong = keptBytes > maxBytes;
    const whole = isTooLong ? null : kept.length === 1 ? kept[0]! : Buffer.concat(kept);
    const bytes = whole?.at(-1) === RETURN ? whole.subarray(0, -1) : whole;
    const line = { start, end, number, bytes };
    kept = [];
    keptBytes = 0;
    start = end + 1;
    number++;
    return bytes !== null && isBlank(bytes) ? null : line;
  };
  const keep = (piece: Buffer) => {
    keptBytes += piece.length;
    if (keptBytes <= maxBytes) kept.push(piece);
    else kept = [];
  };
  for await (const piece of source) {
    let from = 0;
    for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, from)) {
      keep(piece.subarray(from, at));
      const line = cut(position + at);
      if (line) yield line;
      from = at + 1;
    }
    // A copy, since the source may fill its buffer again.
    if (from < piece.length) keep(Buffer.from(piece.subarray(from)));
    position += piece.length;
  }
  if (keptBytes === 0) return;
  const line = cut(position);
  if (line) yield line;
}

const isBlank = (bytes: Buffer): boolean =>
  bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === RETURN);
