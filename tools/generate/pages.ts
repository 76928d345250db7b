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

\`documentation_url\` leads to the code below where the documentation is [published](operations.md#documentation-links).
\`message\` says what is wrong and what is allowed, \`param\` names the field where there is one, and the header
\`x-request-id\` finds the request in the gateway's log. Where an SDK should not retry by itself the answer carries
\`x-should-retry: false\`; where waiting helps it carries \`Retry-After\` in whole seconds.
A failure in the middle of a stream arrives as one last \`data:\` event with the same envelope, and no \`[DONE]\` follows.

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

Conditions follow kstatus: \`kubectl wait --for=condition=Ready md/NAME\` works, and \`observedGeneration\` tells whether
they speak of the present spec. \`kubectl get md -o wide\` shows the message of \`Ready\`: the first thing that stands in the way.

${row('Condition', 'Kind', 'Meaning')}
${row('---', '---', '---')}
${lines.join('\n')}
`;
}
