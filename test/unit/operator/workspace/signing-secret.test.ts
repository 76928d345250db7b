import { expect } from 'chai';
import { generateSigningSecret } from '../../../../api/identity.ts';
import { LABELS, MANAGED_BY, SIGNING_SECRET_NAME } from '../../../../api/names.ts';
import { decodeData } from '../../../../operator/framework/ensure-secret.ts';
import { ensureSigningSecrets } from '../../../../operator/workspace/signing-secret.ts';

const [OWN, SHARED] = [generateSigningSecret(), generateSigningSecret()];
const encode = (text: string) => Buffer.from(text).toString('base64');

/** An API server with one Secret. */
function makeClient(texts: Record<string, string>) {
  const metadata = {
    name: SIGNING_SECRET_NAME,
    labels: { [LABELS.managedBy]: MANAGED_BY },
    resourceVersion: '1',
  };
  const data = Object.fromEntries(Object.entries(texts).map(([field, text]) => [field, encode(text)]));
  const client = {
    find: async () => ({ apiVersion: 'v1', kind: 'Secret', metadata, data: { ...data } }),
    create: async () => {},
    mergePatch: async (_: unknown, { patch }: { patch: { data: Record<string, string | null> } }) => {
      for (const [field, value] of Object.entries(patch.data))
        if (value === null) delete data[field];
        else data[field] = value;
    },
  };
  return { client: client as never, read: () => decodeData(data) };
}

describe("a namespace's signing secrets", () => {
  it('are replaced one by one: without the secret of the workspace those of endpoints stay', async () => {
    const { client, read } = makeClient({ endpoint_results: OWN, endpoint_gone: 'of none' });
    const endpoints = { needed: ['results', 'new'], unreadable: [], isPartial: false };
    const found = await ensureSigningSecrets(
      client,
      { namespace: 'team-a', endpoints },
      new AbortController().signal,
    );
    if ('problem' in found) throw new Error(found.problem.message);
    const { secret, endpoint_results, endpoint_new, ...rest } = read();
    expect(secret).to.match(/^whsec_/);
    expect(endpoint_results).to.equal(OWN);
    expect(endpoint_new).to.match(/^whsec_/);
    expect(rest).to.deep.equal({});
    const current = (text: string | undefined) => ({ current: text, previous: null });
    expect(found.secrets).to.deep.equal({
      workspace: current(secret),
      endpoints: new Map([
        ['results', current(endpoint_results)],
        ['new', current(endpoint_new)],
      ]),
    });
  });

  it('stay where endpoints cannot be listed now, and go with their endpoints otherwise', async () => {
    const texts = { secret: SHARED, endpoint_unseen: OWN, endpoint_stub: OWN };
    const readAfter = async (isPartial: boolean) => {
      const { client, read } = makeClient(texts);
      const endpoints = { needed: [], unreadable: ['stub'], isPartial };
      await ensureSigningSecrets(client, { namespace: 'team-a', endpoints }, new AbortController().signal);
      return read();
    };
    expect(await readAfter(true)).to.deep.equal(texts);
    expect(await readAfter(false)).to.deep.equal({ secret: SHARED, endpoint_stub: OWN });
  });
});
