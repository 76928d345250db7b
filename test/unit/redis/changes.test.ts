import { expect } from 'chai';
import { decodeChange, encodeChange, type PublishedChange } from '../../../redis/publication/changes.ts';

describe('messages on the channels', () => {
  const changes: PublishedChange[] = [
    { what: 'apikeys', namespace: 'one' },
    { what: 'workspace', namespace: 'one' },
    { what: 'deployment', namespace: 'one', name: 'chat' },
    { what: 'replicas', namespace: 'one', name: 'chat' },
    { what: 'hosts' },
  ];
  for (const change of changes) {
    it(`says ${JSON.stringify(change)}`, () =>
      expect(decodeChange(encodeChange(change))).to.deep.equal(change));
  }
  for (const message of [
    '',
    'apikeys',
    'null',
    '[]',
    '{"what":"apikeys"}',
    '{"what":"new","namespace":"one"}',
  ]) {
    it(`takes ${JSON.stringify(message)} for unknown`, () => expect(decodeChange(message)).to.equal(null));
  }
});
