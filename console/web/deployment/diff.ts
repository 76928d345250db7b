/** Compares two texts line by line. Pure. */

export interface DiffLine {
  kind: 'same' | 'removed' | 'added' | 'skipped';
  text: string;
}

/** Unchanged lines that are shown around a change. */
const CONTEXT = 3;
/** Cells in the table of common lines; larger ones show everything as replaced. */
const MAX_CELLS = 4_000_000;

/** Empty if both are the same. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  if (start === a.length && start === b.length) return [];
  return foldSame([
    ...a.slice(0, start).map(line('same')),
    ...compare(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(line('same')),
  ]);
}

const line =
  (kind: DiffLine['kind']) =>
  (text: string): DiffLine => ({ kind, text });

/** By the longest common subsequence. */
function compare(a: string[], b: string[]): DiffLine[] {
  if (a.length * b.length > MAX_CELLS) return [...a.map(line('removed')), ...b.map(line('added'))];
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(line('same')(a[i++]!));
      j++;
    } else if (j === b.length || (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
      lines.push(line('removed')(a[i++]!));
    else lines.push(line('added')(b[j++]!));
  }
  return lines;
}

function foldSame(lines: DiffLine[]): DiffLine[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ kind }) => kind !== 'same'),
  );
  return lines.flatMap((each, index) => {
    if (isNear[index]) return [each];
    return index === 0 || isNear[index - 1] ? [line('skipped')('…')] : [];
  });
}
