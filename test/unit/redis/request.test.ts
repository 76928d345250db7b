import { expect } from 'chai';
import {
  digestIdempotencyKey,
  generateRequestId,
  REQUEST_ID,
  REQUEST_STATUSES,
  VIDEO_STATUS,
} from '../../../api/request.ts';
import { encodeObject } from '../../../redis/requests/object-cleanup.ts';
import { decodeRecord } from '../../../redis/requests/request-record.ts';

describe('a request', () => {
  it('has an id of its own that begins with its workspace’s digits', () => {
    const ids = new Set(Array.from({ length: 1000 }, () => generateRequestId('0a1b2c3d')));
    expect(ids.size).to.equal(1000);
    for (const id of ids)
      expect(id)
        .to.match(REQUEST_ID)
        .and.match(/^req_0a1b2c3d/);
  });

  it('has a state of a video for each of its own', () => {
    expect(REQUEST_STATUSES.map((status) => VIDEO_STATUS[status])).to.deep.equal([
      'queued',
      'in_progress',
      'completed',
      'failed',
      'canceled',
    ]);
  });

  describe('idempotency', () => {
    const scope = {
      sha256: 'a'.repeat(64),
      deployment: 'film',
      modality: 'video' as const,
      header: 'order 7',
    };
    it('is the same for the same key, deployment, modality and header, and does not reveal the header', () => {
      expect(digestIdempotencyKey(scope)).to.equal(digestIdempotencyKey({ ...scope }));
      expect(digestIdempotencyKey(scope)).to.match(/^[0-9a-f]{64}$/);
    });
    for (const [what, change] of Object.entries({
      'another API key': { sha256: 'b'.repeat(64) },
      'another deployment': { deployment: 'clip' },
      'another modality': { modality: 'image' as const },
      'another header': { header: 'order 8' },
      'a header that borrows from its neighbors': { header: 'video\norder 7' },
    })) {
      it(`differs for ${what}`, () => {
        expect(digestIdempotencyKey({ ...scope, ...change })).to.not.equal(digestIdempotencyKey(scope));
      });
    }
  });

  it('is read with null for all that has not happened', () => {
    const fields = { deployment: 'film', registration_id: '281474976710655', modality: 'image' };
    const record = decodeRecord('req_1', { ...fields, status: 'queued', queued_at: '5' }, '');
    expect(record).to.deep.equal({
      ...{ id: 'req_1', deployment: 'film', registrationId: 281474976710655, modality: 'image' },
      ...{ status: 'queued', model: '', size: '', seconds: '', progress: 0, queuedAt: 5 },
      ...{ startedAt: null, completedAt: null, output: null, errorCode: null, errorMessage: null },
    });
  });

  it('is read even when its result is forgotten first', () => {
    const fields = { deployment: 'film', registration_id: '1', modality: 'image', queued_at: '5' };
    expect(decodeRecord('req_1', { ...fields, status: 'succeeded' }, '').output).to.equal(null);
  });

  it('has its stored objects written in one way, credentials apart', () => {
    const key = 'results/a"b';
    expect(encodeObject({ credential: null, key })).to.not.equal(encodeObject({ credential: 'null', key }));
    expect(encodeObject({ key, credential: null })).to.equal(encodeObject({ credential: null, key }));
  });
});
