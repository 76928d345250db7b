/** An engine's metrics in Prometheus' text format: valid and useful series, with labels of its deployment. */

export interface ExpositionOptions {
  /** Added to all samples; the engine's own labels with these names are prefixed. Values need no quoting. */
  labels: Record<string, string>;
  maxLines?: number;
  maxSeries?: number;
}

export interface Exposition {
  text: string;
  series: number;
  /** Lines that were invalid, too long or too many. */
  dropped: number;
}

const MAX_LINES = 100_000;
const MAX_SERIES = 10_000;
const MAX_LINE_LENGTH = 4_096;
const MAX_LABELS = 32;

/** Series of the engine's process and web server, which add nothing to its own metrics, and names reserved for Berth. */
const UNWANTED = /^(python_|process_|http_|go_|berth_)/;
/** Prometheus' own, which a target with `honor_labels` could spoof. */
const TARGET_LABELS = new Set(['job', 'instance', 'container', 'endpoint', 'node', 'service']);
const COMMENT = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*)(?: (.*))?$/;
const TYPES = new Set(['counter', 'gauge', 'histogram', 'summary', 'untyped']);
const NAME = /[a-zA-Z_:][\w:]*/y;
const LABEL = /\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\[\\"n])*)"\s*(,|(?=\}))/y;
const VALUE =
  /[ \t]+([+-]?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[Ii]nf|NaN|nan))(?:[ \t]+-?\d+)?[ \t]*$/y;

/** Omits timestamps and invalid lines, one of which would fail Prometheus' whole scrape. */
export function filterExposition(text: string, options: ExpositionOptions): Exposition {
  const { maxLines = MAX_LINES, maxSeries = MAX_SERIES } = options;
  const own = Object.entries(options.labels).map(([name, value]) => `${name}="${value}"`);
  const isReserved = (name: string) => TARGET_LABELS.has(name) || Object.hasOwn(options.labels, name);
  const kept: string[] = [];
  let series = 0;
  let dropped = 0;
  let lines = 0;
  for (const line of eachLine(text)) {
    if (line === '') continue;
    if (++lines > maxLines) {
      dropped++;
      break;
    }
    if (line.startsWith('#')) {
      if (isWantedComment(line)) kept.push(line);
      continue;
    }
    if (UNWANTED.test(line)) continue;
    const sample = series < maxSeries ? rewriteSample(line, own, isReserved) : null;
    if (sample === null) dropped++;
    else {
      series++;
      kept.push(sample);
    }
  }
  return { text: kept.join('\n'), series, dropped };
}

function* eachLine(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from);
    const to = end === -1 ? text.length : end;
    yield text.slice(from, text[to - 1] === '\r' ? to - 1 : to);
    from = to + 1;
  }
}

function isWantedComment(line: string): boolean {
  if (line.length > MAX_LINE_LENGTH) return false;
  const [, word, name = '', rest = ''] = COMMENT.exec(line) ?? [];
  if (!word || UNWANTED.test(name)) return false;
  return word === 'HELP' || TYPES.has(rest.trim());
}

/** null if it is not a sample. */
function rewriteSample(line: string, own: string[], isReserved: (name: string) => boolean): string | null {
  if (line.length > MAX_LINE_LENGTH) return null;
  const name = matchAt(NAME, line, 0)?.[0];
  if (!name) return null;
  const labels = [...own];
  let at = name.length;
  if (line[at] === '{') {
    at++;
    const seen = new Set<string>();
    while (line[at] !== '}') {
      const match = matchAt(LABEL, line, at);
      if (!match || labels.length >= MAX_LABELS + own.length) return null;
      const label = isReserved(match[1]!) ? `exported_${match[1]}` : match[1]!;
      // Prometheus rejects a scrape with duplicate names, and reserves names with two underscores.
      if (seen.has(label) || label.startsWith('__')) return null;
      seen.add(label);
      labels.push(`${label}="${match[2]}"`);
      at = LABEL.lastIndex;
    }
    at++;
  }
  const value = matchAt(VALUE, line, at)?.[1];
  return value === undefined ? null : `${name}{${labels.join(',')}} ${value}`;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
