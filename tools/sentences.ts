/**
 * Checks the texts that people read (CONTRIBUTING.md, "Documents"): sentences of the Markdown pages are short, start
 * plainly and link to what exists, and no comment in the sources opens with "Of".
 */
import { globSync, readFileSync } from 'node:fs';
import { findDeadLinks } from './links.ts';
import { listSentences, type Sentence } from './prose.ts';

const PAGES = '{*,{cluster,cli,operator,redis}/README,docs/**/*}.md';
const SOURCES =
  '{*.ts,{api,kit,kube,redis,operator,gateway,weights,console,simulator,machine,cluster,launch,cli,tools,test,examples,docs}/**/*.{ts,tsx,lua,css,go}}';
const isForeign = (path: string): boolean => /(^|\/)(node_modules|dist[\w-]*|cache)(\/|$)/.test(path);

const MAX_WORDS = 40;
const MAX_AVERAGE = 25;
const isGenerated = (page: string): boolean => page.startsWith('<!-- Generated');

/** What to write instead of each. */
const BANNED: [RegExp, string][] = [
  [/^Of [^,]+,/, 'an opening "Of …,": start with the subject'],
  [/, too(?=[.,;:)]|$)/, 'a trailing ", too": use "also", or nothing'],
  [/\bunder way\b/i, '"under way": use "in progress" or "in flight"'],
  [/\b(?:go(?:es)?|went) round\b/i, '"goes round": name what bypasses, or loops'],
  [/\bbeside\b/i, '"beside": use "next to" or "alongside"'],
];
const OPENING_OF = /(?:\/\*\*?|^\s*\*|\/\/|^\s*--) Of /;

/** Each as `line: problem`. */
export function findProblems(page: string): string[] {
  const sentences = listSentences(page);
  return [...sentences.flatMap(findProblemsOfSentence), ...checkAverage(sentences)];
}

function findProblemsOfSentence({ line, text, words }: Sentence): string[] {
  const start = text.split(/\s+/).slice(0, 6).join(' ');
  const banned = BANNED.filter(([pattern]) => pattern.test(text)).map(([, what]) => what);
  const long = words > MAX_WORDS ? [`${words} words in a sentence, more than ${MAX_WORDS}`] : [];
  return [...banned, ...long].map((problem) => `${line}: ${problem} ("${start} …")`);
}

/** The average of sentences in paragraphs and lists. */
function checkAverage(sentences: Sentence[]): string[] {
  const prose = sentences.filter(({ isCell }) => !isCell);
  const average = prose.reduce((sum, { words }) => sum + words, 0) / prose.length;
  return average > MAX_AVERAGE ? [`1: ${average.toFixed(1)} words a sentence, more than ${MAX_AVERAGE}`] : [];
}

/** Each as `line: problem`. */
export const findOpeningsOf = (source: string): string[] =>
  source
    .split('\n')
    .flatMap((text, index) =>
      OPENING_OF.test(text) ? [`${index + 1}: a comment that opens with "Of": start with the subject`] : [],
    );

function checkPage(file: string): string[] {
  const page = readFileSync(file, 'utf8');
  const dead = findDeadLinks(file).map(({ line, target }) => `${line}: dead link ${target}`);
  return [...(isGenerated(page) ? [] : findProblems(page)), ...dead].map((problem) => `${file}:${problem}`);
}

const checkSource = (file: string): string[] =>
  findOpeningsOf(readFileSync(file, 'utf8')).map((problem) => `${file}:${problem}`);

if (import.meta.main) {
  const list = (pattern: string) => globSync(pattern, { exclude: isForeign }).sort();
  const problems = [...list(PAGES).flatMap(checkPage), ...list(SOURCES).flatMap(checkSource)];
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
