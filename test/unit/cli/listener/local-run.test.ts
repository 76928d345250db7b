import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { listenToRun } from '../../../../cli/listener/local-run.ts';
import type { EndpointsFile } from '../../../../launch/endpoints-file.ts';

const countServers = (): number =>
  process.getActiveResourcesInfo().filter((resource) => resource === 'TCPServerWrap').length;

describe('berth listen with make run', () => {
  it('leaves nothing open that keeps the process alive if its kubeconfig is missing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-listen-'));
    const before = countServers();
    const webhooks = { signingSecret: 'whsec_dGVzdA==', receiverHost: '127.0.0.1', plainHTTP: true };
    const endpoints = { webhooks } as EndpointsFile;
    const problem = await listenToRun({
      place: { kind: 'run', folder, endpoints },
      namespace: undefined,
      target: null,
      print: () => {},
      signal: new AbortController().signal,
    }).catch((error: Error) => error.message);
    rmSync(folder, { recursive: true });
    expect(problem).to.match(/^there is nothing to speak to/);
    expect(countServers()).to.equal(before);
  });
});
