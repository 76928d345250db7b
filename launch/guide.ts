/** What a person sees once everything serves: addresses, and lines to paste. */
import type { EndpointEntry, EndpointsFile } from './endpoints-file.ts';

export function writeGuide(endpoints: EndpointsFile): string {
  const chat = endpoints.deployments.find((entry) => entry.kind === 'LLM' && !entry.paused);
  const prefix = endpoints.cluster?.exec.length ? `${endpoints.cluster.exec.join(' ')} ` : '';
  return [
    'Berth is serving:',
    '',
    ...listDeployments(endpoints.deployments),
    '',
    ...(chat ? [...writeCurl(chat, prefix), '', ...writeSDK(chat, prefix), ''] : []),
    `All addresses and keys: .berth/endpoints.json. Another key: make key RPM=60 TPD=100000`,
  ].join('\n');
}

function listDeployments(entries: EndpointEntry[]): string[] {
  const width = Math.max(...entries.map((entry) => entry.name.length));
  return entries.map((entry) => {
    const note = entry.paused ? '  (paused: answers 503)' : '';
    return `  ${entry.name.padEnd(width)}  ${entry.kind.padEnd(9)}  ${entry.baseURL}${note}`;
  });
}

const writeCurl = (chat: EndpointEntry, prefix: string): string[] => [
  'curl:',
  `  ${prefix}curl -N ${chat.baseURL}/chat/completions \\`,
  `    -H 'Authorization: Bearer ${chat.apiKey}' -H 'Content-Type: application/json' \\`,
  `    -d '{"stream": true, "messages": [{"role": "user", "content": "Hello"}]}'`,
];

const writeSDK = (chat: EndpointEntry, prefix: string): string[] => [
  prefix ? `OpenAI SDK (Python), in: ${prefix}python3` : 'OpenAI SDK (Python):',
  '  from openai import OpenAI',
  `  client = OpenAI(base_url="${chat.baseURL}", api_key="${chat.apiKey}")`,
  `  print(client.chat.completions.create(model="${chat.modelId}", messages=[{"role": "user", "content": "Hello"}]).choices[0].message.content)`,
];
