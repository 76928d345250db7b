/** The page that `documentation_url` of endpoint errors links to. Needs no session and no scripts. */
import { createHash } from 'node:crypto';
import type { Middleware } from 'koa';
import { ERRORS } from '../../../api/errors.ts';
import type { ConsoleState } from '../sessions/request-guards.ts';

export const ERROR_PAGE_PATH = '/docs/errors';

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark }
section { padding: 0.25rem 1rem; border-left: 4px solid transparent }
section:target { border-color: #4c6ef5 }
h2 { font-size: 1.1rem; margin-bottom: 0 }
p { margin: 0.25rem 0 }
`;

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeText = (text: string): string => text.replace(/[&<>"]/g, (character) => ESCAPES[character]!);
/** Escaped, with text in backticks as code. */
const formatText = (text: string): string => escapeText(text).replace(/`([^`]+)`/g, '<code>$1</code>');

const SECTIONS = Object.entries(ERRORS).map(
  ([code, { status, type, when, remedy, retry }]) => `<section id="${code}">
<h2><code>${code}</code></h2>
<p>Status ${status}, type <code>${escapeText(type)}</code>${retry ? ', can be retried' : ''}</p>
<p>${formatText(when)}</p>
<p><strong>What to do:</strong> ${formatText(remedy)}</p>
</section>`,
);

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Endpoint errors</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Endpoint errors</h1>
<p>The <code>code</code> of an error identifies its entry on this page; its <code>message</code> says what is wrong and what is allowed.</p>
${SECTIONS.join('\n')}
</body>
</html>
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
const POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`;

export const serveErrorPage = (): Middleware<ConsoleState> => async (ctx, next) => {
  const isRead = ctx.method === 'GET' || ctx.method === 'HEAD';
  if (!isRead || ctx.path !== ERROR_PAGE_PATH) return next();
  ctx.set('content-security-policy', POLICY);
  ctx.set('cache-control', 'no-cache');
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = PAGE;
};
