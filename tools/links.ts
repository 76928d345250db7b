/** Finds relative links of Markdown pages that lead to no file, or to no heading of one. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { slugify } from '../docs/.vitepress/slugify.ts';

export interface Link {
  line: number;
  target: string;
}

const withoutCode = (page: string): string =>
  page.replace(/^```[\s\S]*?^```/gm, (code) => code.replace(/[^\n]/g, '')).replace(/`[^`\n]*`/g, 'code');

const isExternal = (target: string): boolean => /^[a-z]+:/.test(target);

export function findDeadLinks(file: string): Link[] {
  return withoutCode(readFileSync(file, 'utf8'))
    .split('\n')
    .flatMap((text, index) =>
      [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => ({ line: index + 1, target: target! })),
    )
    .filter(({ target }) => !isExternal(target) && !resolves(file, target));
}

function resolves(file: string, target: string): boolean {
  const [path, anchor] = target.split('#');
  const page = path ? join(dirname(file), path) : file;
  return existsSync(page) && (anchor === undefined || listAnchors(page).has(anchor));
}

function listAnchors(file: string): Set<string> {
  const page = readFileSync(file, 'utf8');
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => slugify(heading!));
  const named = [...page.matchAll(/<a id="([^"]+)">/g)].map(([, id]) => id!);
  return new Set([...headings, ...named]);
}
