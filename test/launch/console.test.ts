import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { hashApiKey } from '../../api/identity.ts';
import { CSRF_HEADER, type KeyView } from '../../console/api.ts';
import { ensurePage } from '../../launch/local-console.ts';
import { createLocalKey } from '../support/local-key.ts';
import { type LocalStack, startLocalStack } from '../support/local-stack.ts';

describe('the console of make run', () => {
  it('has a page of its own, which a later build does not take away', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-page-'));
    const page = await ensurePage(folder);
    expect(page.startsWith(folder)).to.equal(true);
    expect(readFileSync(join(page, 'index.html'), 'utf8')).to.include('<div id="root">');
    rmSync(folder, { recursive: true });
  });

  let stack: LocalStack;
  before(async () => {
    stack = await startLocalStack();
  });
  after(() => stack?.stop());

  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${stack.endpoints.console!.url}${path}`, init);
  async function signIn(): Promise<string> {
    const response = await call('/api/session', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        [CSRF_HEADER]: '1',
        origin: stack.endpoints.console!.url,
      },
      body: JSON.stringify({ token: stack.endpoints.console!.token }),
    });
    expect(response.status).to.equal(200);
    return response.headers.get('set-cookie')!.split(';')[0]!;
  }

  it('serves the page, with its parts compressed when it was built', async () => {
    const page = await (await call('/')).text();
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(page)![1]!;
    for (const encoding of ['br', 'gzip']) {
      const response = await call(script, { headers: { 'accept-encoding': encoding } });
      expect(response.headers.get('content-encoding')).to.equal(encoding);
    }
  });

  it('takes the token of endpoints.json, and shows the keys that make key makes', async () => {
    const cookie = await signIn();
    const sha256 = hashApiKey('sk-berth-of-make-key');
    const limits = { rpm: 7, tpd: 1000, priority: 20 };
    await createLocalKey(stack.endpoints, { namespace: 'default', name: 'made', sha256, ...limits });
    const keys = (await (
      await call('/api/namespaces/default/keys', { headers: { cookie } })
    ).json()) as KeyView[];
    expect(keys.find(({ name }) => name === 'made')).to.include({ rpm: 7, priority: 20, isReady: true });
    const { baseURL } = stack.find('LLM');
    const headers = { authorization: 'Bearer sk-berth-of-make-key' };
    expect((await fetch(`${baseURL}/models`, { headers })).status).to.equal(200);
  });
});
