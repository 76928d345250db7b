/** The site of this folder's pages: `make docs` serves it, `make docs-build` builds it. Nothing of it comes from elsewhere. */
import { defineConfig } from 'vitepress';
import { slugify } from './slugify.ts';

const page = (text: string, link: string) => ({ text, link });

export default defineConfig({
  title: 'Berth',
  description:
    'One AI model per deployment on Kubernetes, each with an OpenAI-compatible endpoint of its own',
  cleanUrls: true,
  // A site on a disk, or below a path of another: DOCS_BASE=/berth/ make docs-build.
  base: process.env.DOCS_BASE || '/',
  // What lies beside this folder is in the repository, not on the site.
  ignoreDeadLinks: [/^(\.\/)?\.\.\//],
  markdown: {
    anchor: { slugify },
    toc: { slugify },
    headers: { slugify, level: [2, 3] },
    // Braces in a heading are a part of a path.
    attrs: { disable: true },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      {
        text: 'Using endpoints',
        items: [
          page('Get started', '/get-started'),
          page('API', '/api'),
          page('Command line', '/cli'),
          page('Coding agents', '/coding-agents'),
          page('Errors', '/errors'),
          page('Images and videos', '/media'),
          page('Batches', '/batches'),
          page('Requests', '/requests'),
          page('Budgets', '/budgets'),
          page('Webhooks', '/webhooks'),
        ],
      },
      {
        text: 'Running Berth',
        items: [
          page('Your own model', '/own-model'),
          page('Local runs', '/local'),
          page('Try it on kind', '/kind'),
          page('Install', '/install'),
          page('Upgrade', '/upgrade'),
          page('Scale', '/scale'),
          page('Two versions at one URL', '/traffic'),
          page('With Kueue', '/kueue'),
          page('Engines', '/engines'),
          page('Redis', '/redis'),
          page('Troubleshoot', '/troubleshoot'),
          page('Console', '/console'),
          page('Security', '/security'),
          page('Conditions', '/conditions'),
          page('Metrics', '/metrics'),
          page('Runbooks', '/runbooks/'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('Resources', '/resources'),
          page('Chart values', '/values'),
          page('Environment variables', '/environment'),
        ],
      },
      {
        text: 'How it is built',
        items: [
          page('Architecture', '/architecture'),
          page('Performance', '/performance'),
          page('Measurements', '/measurements'),
          page('Tested engines', '/tested-engines'),
          page('Decisions', '/decisions'),
          page('Simulator', '/simulator'),
        ],
      },
    ],
  },
});
