/** The prefix cache of an engine: which beginnings of prompts it has computed and still keeps, as vLLM's has it. */
import { hashText } from './random.ts';

/** Whole blocks alone are kept. */
export const BLOCK_TOKENS = 16;
const CHARACTERS_PER_TOKEN = 4;
const BLOCK_CHARACTERS = BLOCK_TOKENS * CHARACTERS_PER_TOKEN;
/** Start of a block's second hash: one hash of 32 bits alone would take some blocks for others. */
const SECOND_START = 0x9747b28c;
const HIGH = 2 ** 20;

export class PrefixCache {
  /** Tokens that were asked for, and those that were there. */
  readonly totals = { asked: 0, found: 0 };
  /** By the hash of all text to their ends; LRU eviction. */
  readonly #blocks = new Set<number>();
  readonly #readCapacity: () => number;

  /** `readCapacity`: tokens, asked each time. */
  constructor(readCapacity: () => number) {
    this.#readCapacity = readCapacity;
  }

  /** Tokens at the beginning of a prompt that were there; afterwards all of its blocks are. The last token is never cached. */
  enter(prompt: string, tokens: number): number {
    const blocks = listBlocks(prompt);
    const missing = blocks.findIndex((block) => !this.#blocks.has(block));
    const found = (missing === -1 ? blocks.length : missing) * BLOCK_TOKENS;
    const most = Math.floor(Math.max(0, tokens - 1) / BLOCK_TOKENS) * BLOCK_TOKENS;
    this.#keep(blocks);
    this.totals.asked += tokens;
    this.totals.found += Math.min(found, most);
    return Math.min(found, most);
  }

  /** Keeps what was generated, too. */
  add(text: string): void {
    this.#keep(listBlocks(text));
  }

  /** The end of a prompt goes before its beginning. */
  #keep(blocks: readonly number[]): void {
    for (const block of blocks.toReversed()) {
      this.#blocks.delete(block);
      this.#blocks.add(block);
    }
    const most = Math.floor(this.#readCapacity() / BLOCK_TOKENS);
    for (const oldest of this.#blocks) {
      if (this.#blocks.size <= most) return;
      this.#blocks.delete(oldest);
    }
  }
}

function listBlocks(text: string): number[] {
  const blocks: number[] = [];
  let low: number | undefined;
  let high = SECOND_START;
  for (let end = BLOCK_CHARACTERS; end <= text.length; end += BLOCK_CHARACTERS) {
    const block = text.slice(end - BLOCK_CHARACTERS, end);
    low = hashText(block, low);
    high = hashText(block, high);
    blocks.push(low * HIGH + (high % HIGH));
  }
  return blocks;
}
