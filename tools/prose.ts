/** The sentences of a Markdown page: its paragraphs, list items and table cells, without code, HTML and link targets. */

export interface Sentence {
  /** The line of the page on which its block starts. */
  line: number;
  text: string;
  words: number;
  /** Cells hold notes rather than sentences, so they do not count in a page's average. */
  isCell: boolean;
}

interface Block {
  line: number;
  text: string;
  isCell: boolean;
}

const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^#+ /;
const TABLE_ROW = /^\s*\|(.*)\|\s*$/;
const TABLE_RULE = /^\s*\|[\s|:-]+\|\s*$/;
const LIST_ITEM = /^\s*(?:[-*]|\d+\.) /;
/** A pipe that separates cells: neither escaped nor within code. */
const CELL_END = /(?<!\\)\|(?=(?:[^`]*`[^`]*`)*[^`]*$)/;
/** The end of a sentence and the start of the next one, but not after an abbreviation. */
const BOUNDARY = /(?<!\b(?:e\.g|i\.e|vs))(?<=[.!?][)"”*_]*)\s+(?=[("“*_]*[\p{Lu}\d])/u;

export const listSentences = (page: string): Sentence[] =>
  listBlocks(page).flatMap(({ text, ...block }) =>
    toPlainText(text)
      .split(BOUNDARY)
      .map((sentence) => ({ ...block, text: sentence, words: countWords(sentence) }))
      .filter(({ words }) => words > 0),
  );

const countWords = (text: string): number =>
  text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** A code span stands for one word, which may start a sentence. */
const toPlainText = (text: string): string =>
  text
    .replace(/`+[^`]+`+/g, 'Code')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>]+>/g, '')
    .replace(/\*\*/g, '')
    .trim();

function listBlocks(page: string): Block[] {
  const blocks: Block[] = [];
  let open: Block | undefined;
  for (const [index, text] of blankCode(page).split('\n').entries()) {
    const line = index + 1;
    if (text.trim() === '' || HEADING.test(text) || TABLE_RULE.test(text)) {
      open = undefined;
    } else if (TABLE_ROW.test(text)) {
      const cells = TABLE_ROW.exec(text)![1]!.split(CELL_END);
      blocks.push(...cells.map((cell) => ({ line, text: cell, isCell: true })));
      open = undefined;
    } else if (!open || LIST_ITEM.test(text)) {
      open = { line, text: text.replace(LIST_ITEM, ''), isCell: false };
      blocks.push(open);
    } else {
      open.text += ` ${text.trim()}`;
    }
  }
  return blocks;
}

/** Empties fenced code, comments and front matter, and keeps the numbers of the lines. */
function blankCode(page: string): string {
  let fence: string | undefined;
  const lines = blankLines(page, /^---\n[\s\S]*?\n---\n|<!--[\s\S]*?-->/g).split('\n');
  return lines
    .map((line) => {
      const mark = FENCE.exec(line)?.[1];
      const wasCode = fence !== undefined;
      if (!wasCode) fence = mark;
      else if (mark?.startsWith(fence!)) fence = undefined;
      return wasCode || mark ? '' : line;
    })
    .join('\n');
}

const blankLines = (text: string, pattern: RegExp): string =>
  text.replace(pattern, (part) => part.replace(/[^\n]+/g, ''));
