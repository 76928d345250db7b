/** The output once everything serves: addresses, and commands to paste. */
import type { EndpointEntry, EndpointsFile } from './endpoints-file.ts';
import { DEFAULT_FOLDER } from './environment.ts';

/** `folder`: of the endpoints file. */
export function writeGuide(endpoints: EndpointsFile, folder = DEFAULT_FOLDER): string {
  const prefix = endpoints.cluster?.exec.length ? `${endpoints.cluster.exec.join(' ')} ` : '';
  const variable = folder === DEFAULT_FOLDER ? '' : `BERTH_STATE=${folder} `;
  const examples = EXAMPLES.flatMap(([kind, write]) => {
    const entry = endpoints.deployments.find((entry) => entry.kind === kind && !entry.paused);
    return entry ? [...write(entry, prefix), ''] : [];
  });
  return [
    ...writeSignIn(endpoints),
    ...listDeployments(endpoints.deployments),
    '',
    ...writeKey(endpoints.deployments),
    ...examples,
    ...writeWebhook(endpoints, prefix),
    ...writeConsole(endpoints, prefix),
    ...writeKubectl(endpoints, folder),
    `All addresses and keys: ${folder}/endpoints.json. Another key: ${variable}make key RPM=60 TPD=100000`,
  ].join('\n');
}

function listDeployments(entries: EndpointEntry[]): string[] {
  const width = Math.max(...entries.map(({ name }) => name.length));
  const kindWidth = Math.max(...entries.map(({ kind }) => kind.length));
  const simulated = entries.filter(({ simulatorURL }) => simulatorURL !== null).length;
  const note =
    simulated === 0
      ? ''
      : ` ${simulated === entries.filter(({ paused }) => !paused).length ? 'These models' : 'Some of these models'} are simulated: real protocol, made-up answers.`;
  return [
    `Berth is serving.${note}`,
    '',
    ...entries.map((entry) => {
      const paused = entry.paused ? '  (paused: returns 503)' : '';
      return `  ${entry.name.padEnd(width)}  ${entry.kind.padEnd(kindWidth)}  ${entry.baseURL}${paused}`;
    }),
  ];
}

/** On this machine a link is enough. */
function writeSignIn({ console, mode }: EndpointsFile): string[] {
  if (!console || mode !== 'local') return [];
  return ['Console, signed in:', `  ${console.url}/#token=${console.token}`, ''];
}

/** Once: the commands below refer to it. */
function writeKey([first]: EndpointEntry[]): string[] {
  return first
    ? ['The API key for all of them, used by the commands below:', `  export BERTH_KEY=${first.apiKey}`, '']
    : [];
}

function writeKubectl({ mode }: EndpointsFile, folder: string): string[] {
  if (mode !== 'local') return [];
  const command = `kubectl --kubeconfig ${folder}/kubeconfig`;
  return [
    'The objects, with kubectl as on a cluster (apply, scale, edit, delete, logs):',
    `  ${command} get md,pods`,
    '',
  ];
}

function writeConsole({ console, mode }: EndpointsFile, prefix: string): string[] {
  if (!console || mode === 'local') return [];
  const browser = prefix === '' ? [] : [`  ${prefix}chromium --no-sandbox ${console.url}`];
  return [
    `Console: ${console.url} – sign in as a member of the namespace default with the token`,
    `  ${console.token}`,
    ...browser,
    '',
  ];
}

const RECEIVER_PORT = 4000;

/** A receiver, and a request that calls it back. */
function writeWebhook({ webhooks, deployments, mode }: EndpointsFile, prefix: string): string[] {
  const video = deployments.find(({ kind, paused }) => kind === 'Video' && !paused);
  if (!webhooks || !video) return [];
  const { signingSecret, receiverHost } = webhooks;
  const { seconds, fps } = video.native ?? { seconds: 5, fps: 24 };
  const where = mode === 'local' ? 'this machine' : receiverHost;
  const environment = mode === 'local' ? '' : `${prefix}env HOST=${receiverHost} `;
  return [
    `Webhooks may call ${where}, by plain http too. A receiver, and in another terminal a video that calls it:`,
    `  ${environment}SIGNING_SECRET=${signingSecret} PORT=${RECEIVER_PORT} node examples/webhooks/receiver.mjs`,
    `  ${prefix}curl ${video.baseURL}/videos -H "Authorization: Bearer $BERTH_KEY" \\`,
    `    -F model=${video.modelId} -F prompt='A ship leaves' -F seconds=${seconds} -F fps=${fps} \\`,
    `    -F size=${video.resolutions?.[0] ?? '720x1280'} -F webhook_url=http://${receiverHost}:${RECEIVER_PORT}/`,
    ...(mode === 'local'
      ? ['  All webhooks, forwarded to a program of yours: make listen URL=http://localhost:3000/hook']
      : []),
    '',
  ];
}

type Writer = (entry: EndpointEntry, prefix: string) => string[];

const writeChat: Writer = (chat, prefix) => [
  'A chat with curl:',
  `  ${prefix}curl -N ${chat.baseURL}/chat/completions \\`,
  `    -H "Authorization: Bearer $BERTH_KEY" -H 'Content-Type: application/json' \\`,
  `    -d '{"stream": true, "messages": [{"role": "user", "content": "Hello"}]}'`,
  '',
  prefix ? `With the OpenAI SDK (Python), in: ${prefix}python3` : 'With the OpenAI SDK (Python):',
  '  import os; from openai import OpenAI',
  `  client = OpenAI(base_url="${chat.baseURL}", api_key=os.environ["BERTH_KEY"])`,
  `  print(client.chat.completions.create(model="${chat.modelId}", messages=[{"role": "user", "content": "Hello"}]).choices[0].message.content)`,
];

const writeImage: Writer = ({ baseURL, modelId }, prefix) => [
  'An image:',
  `  ${prefix}curl ${baseURL}/images/generations \\`,
  `    -H "Authorization: Bearer $BERTH_KEY" -H 'Content-Type: application/json' \\`,
  `    -d '{"model": "${modelId}", "prompt": "A harbor at dawn"}'`,
];

const writeVideo: Writer = ({ baseURL, modelId, native, resolutions }, prefix) => {
  const { seconds, fps } = native ?? { seconds: 5, fps: 24 };
  const size = resolutions?.[0] ?? '720x1280';
  return [
    'A video, generated in the background; then its status and content:',
    `  ${prefix}curl ${baseURL}/videos -H "Authorization: Bearer $BERTH_KEY" \\`,
    `    -F model=${modelId} -F prompt='A ship leaves' -F seconds=${seconds} -F fps=${fps} -F size=${size}`,
    `  ${prefix}curl '${baseURL}/requests?limit=1' -H "Authorization: Bearer $BERTH_KEY"`,
    `  ${prefix}curl -L -o ship.mp4 ${baseURL}/videos/ID/content -H "Authorization: Bearer $BERTH_KEY"`,
  ];
};

const EXAMPLES: [kind: string, Writer][] = [
  ['LLM', writeChat],
  ['Image', writeImage],
  ['Video', writeVideo],
];
