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

\`documentation_url\` links to the code below if the documentation is [published](operations.md#documentation-links).
\`message\` describes the problem and what is allowed, \`param\` is the invalid field if there is one, and the header
\`x-request-id\` identifies the request in the gateway's log. Responses that SDKs should not retry automatically have
\`x-should-retry: false\`; responses that can be retried later have \`Retry-After\` in whole seconds.
An error in the middle of a stream is sent as a last \`data:\` event with the same envelope, without \`[DONE]\`.

${row('Code', 'Status', 'Type', 'When', 'What to do', 'Retried by SDKs')}
${row('---', '---', '---', '---', '---', '---')}
${lines.join('\n')}
`;
}

/** docs/conditions.md: every condition with the kind it belongs to and its meaning. */
export function writeConditionPage(): string {
  const lines = Object.values(CONDITIONS).map(({ kind, type, meaning }) => row(`\`${type}\``, kind, meaning));
  return `${NOTICE}
# Conditions

Conditions follow kstatus: \`kubectl wait --for=condition=Ready md/NAME\` works, and \`observedGeneration\` shows whether
they refer to the current spec. \`kubectl get md -o wide\` shows the message of \`Ready\`: the first problem.

${row('Condition', 'Kind', 'Meaning')}
${row('---', '---', '---')}
${lines.join('\n')}
`;
}
