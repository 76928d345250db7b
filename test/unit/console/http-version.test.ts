import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { Kubernetes } from '../../../console/server/kubernetes/client.ts';
import { KubernetesStreams } from '../../../console/server/kubernetes/streams.ts';
import { IssuerConnection } from '../../../console/server/oidc/issuer-connection.ts';
import { makeCertificates } from '../../support/test-certificates.ts';

/** Requests of users end at any time, and Node's HTTP/2 fails where one ends while it is sent. */
describe('the HTTP of the console', () => {
  const { ca, cert, key } = makeCertificates('DNS:localhost');
  const versions: string[] = [];
  let server: Http2SecureServer;
  let url: string;
  before(async () => {
    server = createSecureServer({ cert, key, allowHTTP1: true }, ({ httpVersion }, answer) => {
      versions.push(httpVersion);
      answer.end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `https://localhost:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());

  it('is HTTP/1.1, also where a server offers HTTP/2', async () => {
    const { signal } = new AbortController();
    const kubernetes = new Kubernetes({ url, ca });
    await kubernetes.get('token', { plural: 'modeldeployments', namespace: 'team' }, 'one');
    const streams = new KubernetesStreams({ url, ca });
    const options = { container: 'engine', tailLines: 1, limitBytes: 1, previous: true };
    await streams.readLog('token', { namespace: 'team', pod: 'one' }, options, signal);
    const issuer = new IssuerConnection(ca);
    await issuer.fetch(url, { method: 'GET', headers: {}, body: null, redirect: 'manual', signal });
    expect(versions).to.deep.equal(['1.1', '1.1', '1.1']);
    await Promise.all([kubernetes.close(), streams.close(), issuer.close()]);
  });
});
