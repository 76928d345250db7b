/** An endpoint that answers as a test says, the deployment `llm` that leads to it, and a member who is signed in. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { ConsoleHarness, Person } from './console-harness.ts';

export interface EndpointFixture {
  /** Set by each test; `{}` before that. */
  answer: (request: IncomingMessage, response: ServerResponse) => void;
  /** What was asked of the endpoint since the test began. */
  seen: IncomingMessage[];
  namespace: string;
  token: string;
  someone: Person;
  base: string;
  /** Port of the endpoint. */
  port: number;
  makeDeployment(name: string, url: string): Promise<void>;
}

/** Made again before each test of the surrounding `describe`. */
export function useEndpoint(console: ConsoleHarness): EndpointFixture {
  const fixture = { makeDeployment } as EndpointFixture;
  let endpoint: Server;

  before(async () => {
    endpoint = createServer((request, response) => {
      fixture.seen.push(request);
      fixture.answer(request, response);
    }).listen(0, '127.0.0.1');
    await once(endpoint, 'listening');
  });
  after(() => endpoint.close());
  beforeEach(async () => {
    const { namespace, token } = await console.makeMember();
    const someone = await console.signIn(token);
    const answer: EndpointFixture['answer'] = (_, response) => response.end('{}');
    const { port } = endpoint.address() as AddressInfo;
    Object.assign(fixture, {
      namespace,
      token,
      someone,
      answer,
      base: `/api/namespaces/${namespace}`,
      seen: [],
      port,
    });
    await makeDeployment('llm', `http://127.0.0.1:${port}`);
  });

  async function makeDeployment(name: string, url: string): Promise<void> {
    const path = `/apis/berth.dev/v1alpha1/namespaces/${fixture.namespace}/modeldeployments`;
    const spec = { kind: 'Image', model: { id: 'm' }, engine: { preset: 'simulator' } };
    const object = { apiVersion: 'berth.dev/v1alpha1', kind: 'ModelDeployment', metadata: { name }, spec };
    expect((await console.kube('POST', path, object)).status).to.equal(201);
    expect((await console.kube('PATCH', `${path}/${name}/status`, { status: { url } })).status).to.equal(200);
  }
  return fixture;
}
