/** Plain requests, for tests of status, headers and envelope. */
import { expect } from 'chai';
import type { EndpointEntry } from '../../launch/endpoints-file.ts';

export interface Answer {
  status: number;
  headers: Headers;
  body: { error?: { message: string; type: string; code: string | null; param: string | null } };
}

/** A chat by plain HTTP, on a connection of its own where `headers` say so. */
export async function postChat(
  { baseURL, apiKey }: Pick<EndpointEntry, 'baseURL' | 'apiKey'>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parse(text) };
}

/** The answer is an error in the envelope. */
export function expectError({ status, body }: Answer, wantedStatus: number, code: string): void {
  expect(body.error, `status ${status}: ${JSON.stringify(body)}`).to.be.an('object');
  expect([status, body.error!.code]).to.deep.equal([wantedStatus, code]);
  expect(body.error!.message).to.be.a('string').that.is.not.empty;
}

function parse(text: string): Answer['body'] {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`not JSON: ${text.slice(0, 200)}`);
  }
}
