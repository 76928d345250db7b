import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { workspaceDataKey } from '../../../api/identity.ts';
import { openStorageKeys, sealStorageKeys } from '../../../api/storage-keys.ts';

const KEYS = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'sécret/+=' };
const PLACE = { redisKey: 'berth:w:team-a:credentials', credentialId: 42 };
const DATA_KEY = workspaceDataKey('master', 'team-a');

describe('sealed keys of a StorageCredential', () => {
  const sealed = sealStorageKeys(KEYS, PLACE, DATA_KEY);

  it('open where they belong', () => {
    expect(openStorageKeys(sealed, PLACE, DATA_KEY)).to.deep.equal(KEYS);
  });

  it('show nothing of the keys and are never the same twice', () => {
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.to.include(KEYS.accessKeyId);
    expect(sealStorageKeys(KEYS, PLACE, DATA_KEY)).not.to.equal(sealed);
  });

  const elsewhere = {
    'under another Redis key': () => openStorageKeys(sealed, { ...PLACE, redisKey: 'other' }, DATA_KEY),
    'as another credential': () => openStorageKeys(sealed, { ...PLACE, credentialId: 43 }, DATA_KEY),
    'in another workspace': () => openStorageKeys(sealed, PLACE, workspaceDataKey('master', 'team-b')),
    'with another master key': () => openStorageKeys(sealed, PLACE, workspaceDataKey('other', 'team-a')),
    'with a random key': () => openStorageKeys(sealed, PLACE, randomBytes(32)),
  };
  for (const [where, open] of Object.entries(elsewhere))
    it(`do not open ${where}`, () => {
      expect(open()).to.equal(null);
    });

  it('do not open when any one byte is changed, or when they are cut', () => {
    const bytes = Buffer.from(sealed, 'base64url');
    for (let index = 0; index < bytes.length; index++) {
      const changed = Buffer.from(bytes);
      changed[index]! ^= 1;
      expect(openStorageKeys(changed.toString('base64url'), PLACE, DATA_KEY), `byte ${index}`).to.equal(null);
      expect(openStorageKeys(bytes.toString('base64url', 0, index), PLACE, DATA_KEY)).to.equal(null);
    }
  });
});
