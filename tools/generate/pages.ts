/** The documentation pages that are tables of api/. */
import { CONDITIONS } from '../../api/conditions.ts';
import { ERRORS } from '../../api/errors.ts';

const NOTICE = '<!-- Generated from api/ by make generate. Do not edit. -->\n';

const row = (...cells: string[]): string => `| ${cells.join(' | ')} |`;

/** docs/errors.md: every code with its status, its cause and its remedy. */
export function writeErrorPage(): string {
  const lines = Object.entries(ERRORS).map(([code, error]) =>
    row(
      `<a id="${code}"></a>\`${code}\``,
      String(error.status),
      `\`${error.type}\``,
      error.when,
      error.remedy,
      error.retry ? 'yes' : 'no',
    ),
  );
  return `${NOTICE}
# Errors

Every error has the same envelope:

\`\`\`json
{ "error": { "message": "…", "type": "…", "param": null, "code": "…" } }
\`\`\`

- \`message\` describes the problem and what is allowed. \`param\` is the invalid field, if there is one.
- \`documentation_url\` links to the code below if the documentation is [published](install.md#publish-the-console-and-the-documentation).
- The header \`x-request-id\` identifies the request in the gateway's log.
- Responses that SDKs should not retry automatically have \`x-should-retry: false\`. Responses that can be retried later have \`Retry-After\` in
  whole seconds.
- An error in the middle of a stream is sent as a last \`data:\` event with the same envelope, without \`[DONE]\`.

${row('Code', 'Status', 'Type', 'When', 'What to do', 'Retried by SDKs')}
${row('---', '---', '---', '---', '---', '---')}
${lines.join('\n')}
${CLIENT_RETRIES}`;
}

/** Measured in November 2026, with default settings, against a server that answers with the gateway's own errors and no success. */
const CLIENT_RETRIES = `
## What clients do by themselves

The table shows how many requests each client sends for one call that is never served, and after how many seconds it gives up. Clients have their
own default settings. The columns are kinds of errors, by their headers:

- **Minute**: \`rate_limit_exceeded\` for requests per minute, \`queue_full\`; \`Retry-After: 30\`.
- **Soon**: \`replica_saturated\` (429, or 529 on \`/v1/messages\`) / \`no_pod_available\` and \`temporarily_unavailable\` (503); \`Retry-After: 5\`.
- **Start**: \`no_pod_available\` of a model whose start takes longer; \`Retry-After: 60\`, the maximum of a 503.
- **Failed**: \`upstream_error\`, \`storage_upload_failed\` (502) and \`internal_error\` (500) / \`request_timeout\` (408); no \`Retry-After\`.
- **Day**: \`rate_limit_exceeded\` for tokens per day; \`Retry-After\` of hours, \`x-should-retry: false\`.
- **Final**: \`no_pod_available\` of a paused deployment, \`insufficient_quota\`, \`request_timeout\` (504); \`x-should-retry: false\`, no \`Retry-After\`.

| Client | Minute | Soon | Start | Failed | Day | Final |
|---|---|---|---|---|---|---|
| openai 3.57 (Python) | 3 in 60 s | 3 in 11 s | 3 in 121 s | 3 in 2 s | 1 | 1 |
| openai 7.55 (Node) | 3 in 60 s | 3 in 11 s | 3 in 122 s | 3 in 3 s | 1 | 1 |
| anthropic 2.14 (Python) | 3 in 60 s | 3 in 10 s | 3 in 121 s | 3 in 2 s | 1 | 1 |
| @anthropic-ai/sdk 1.12 (Node) | 3 in 60 s | 3 in 11 s | 3 in 122 s | 3 in 3 s | 1 | 1 |
| LangChain, langchain-openai 1.7 (Python) | 3 in 60 s | 3 in 11 s | 3 in 120 s | 3 in 2 s | 1 | 1 |
| LiteLLM 1.110 | 3 in 60 s | 3 in 10 s | 3 in 120 s | 3 in 1 s | 1 | 1 |
| LiteLLM's Router 1.110 | 3 in 62 s | 3 in 12 s | 3 in 122 s | 3 in 3 s | 3 in 3 s | 3 in 4 s |
| AI SDK 7.0 | 3 in 60 s | 3 in 12 s | 3 in 8 s | 3 in 10 s | 3 in 7 s | 3 in 9 s |
| LangChain, @langchain/openai 1.5 (JavaScript) | 7 in 204 s | 7 in 112 s | 7 in 116 s | 7 in 102 s | 1 | 7 in 109 s; credit 1 |
| Claude Code 2.1.332 | 11 in 359 s | 11 in 199 s | 9 in 9 min, and goes on | 11 in 183 s | 1 | 1 |
| Codex 0.171.0 | 6 in 159 s | 6 in 26 s / 30 in 146 s | 11 in 10 min, and goes on | 30 in 25 s / 6 in 6 s | waits for hours | 30 in 25 s |
| opencode 1.18.33 | 6 in 151 s | 6 in 26 s | 6 in 301 s | 6 in 71 s | waits for hours | 6 in 73 s |

- Claude Code tries ten times more. Codex sends a request up to five times, and a turn up to six times: \`request_max_retries\` and
  \`stream_max_retries\` of its provider limit that. Other clients send at most 7 requests.
- When the tokens of the day are used up, Codex and opencode obey \`Retry-After\`, and show nothing until the limit resets: stop them. No other
  pause is longer than 75 s. The header is sent nevertheless, since it tells other clients when the key is served again.
- LiteLLM's Router, AI SDK, LangChain for JavaScript, Codex and opencode do not read \`x-should-retry\`. The others do.
- AI SDK and LangChain for JavaScript do not obey a \`Retry-After\` of 60 s. They wait by their own schedule.
- A repeated request for an asynchronous image or video is made and charged once, if it has an [\`Idempotency-Key\`](api.md#idempotency).
`;

/** docs/conditions.md: every condition with the kind it belongs to and its meaning. */
export function writeConditionPage(): string {
  const lines = Object.values(CONDITIONS).map(({ kind, type, meaning }) => row(`\`${type}\``, kind, meaning));
  return `${NOTICE}
# Conditions

Conditions follow kstatus. \`kubectl wait --for=condition=Ready md/NAME\` works, and \`observedGeneration\` shows whether
they refer to the current spec. \`kubectl get md -o wide\` shows the message of \`Ready\`, which is the first problem.
[Wait until objects are ready](install.md#wait-until-objects-are-ready) describes how Flux, Helm and Argo CD read them.

${row('Condition', 'Kind', 'Meaning')}
${row('---', '---', '---')}
${lines.join('\n')}
`;
}
