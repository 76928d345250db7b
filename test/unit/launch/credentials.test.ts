import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { workspaceDataKey } from '../../../contract/identity.ts';
import { configKeys } from '../../../contract/redis-keys.ts';
import { openStorageKeys } from '../../../contract/storage-keys.ts';
import { resolveCredential, sealCredential } from '../../../launch/local-credentials.ts';
import { readManifests } from '../../../launch/manifests.ts';

const MASTER_KEY = 'k'.repeat(43);
const CREDENTIAL = `
apiVersion: berth.dev/v1alpha1
kind: StorageCredential
metadata: { name: ours, namespace: team }
spec: { endpoint: "https://s3.example.com", bucket: results, secret: ours-keys }
`;
const SECRET = `
---
apiVersion: v1
kind: Secret
metadata: { name: ours-keys, namespace: team }
data: { accessKeyId: ${Buffer.from('id').toString('base64')} }
stringData: { secretAccessKey: secret }
`;

describe('a StorageCredential among the manifests of make run', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-manifests-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const list = (yaml: string) => {
    writeFileSync(join(folder, 'storage.yaml'), yaml);
    const { storageCredentials, secrets } = readManifests([folder]);
    return storageCredentials.map((credential) => resolveCredential(credential, secrets));
  };

  it('takes its keys from its Secret, whichever way they stand there', () => {
    const [credential] = list(CREDENTIAL + SECRET);
    expect(credential).to.deep.include({
      name: 'ours',
      namespace: 'team',
      endpoint: 'https://s3.example.com',
      bucket: 'results',
      pathStyle: true,
      keys: { accessKeyId: 'id', secretAccessKey: 'secret' },
    });
    expect(credential!.id).to.be.greaterThan(0);
  });

  it('is refused without its Secret', () => {
    expect(() => list(CREDENTIAL)).to.throw('Secret ours-keys');
  });

  for (const fault of [null, 'bucket results does not exist'])
    it(`is published with sealed keys, ${fault === null ? 'verified' : 'not verified'}`, () => {
      const [credential] = list(CREDENTIAL + SECRET);
      const published = sealCredential({ ...credential!, fault }, MASTER_KEY);
      expect(published.verified).to.equal(fault === null);
      expect(JSON.stringify(published)).to.not.include('secret');
      const place = { redisKey: configKeys('team').credentials, credentialId: credential!.id };
      expect(openStorageKeys(published.sealed, place, workspaceDataKey(MASTER_KEY, 'team'))).to.deep.equal({
        accessKeyId: 'id',
        secretAccessKey: 'secret',
      });
    });
});
