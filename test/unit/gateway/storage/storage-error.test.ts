import { expect } from 'chai';
import { EgressError } from '../../../../gateway/egress/egress-error.ts';
import { formatDisposition } from '../../../../gateway/storage/object-store.ts';
import { classifyAnswer, classifyFailure, StorageError } from '../../../../gateway/storage/storage-error.ts';
import { toUploadReason, UploadError } from '../../../../gateway/storage/upload-error.ts';

describe('what is wrong with a store', () => {
  const answers: [number, string | undefined, string][] = [
    [404, 'NoSuchBucket', 'bucket'],
    [403, 'AccessDenied', 'denied'],
    [403, undefined, 'denied'],
    [403, 'InvalidAccessKeyId', 'credentials'],
    [403, 'SignatureDoesNotMatch', 'credentials'],
    [403, 'RequestTimeTooSkewed', 'clock'],
    [400, 'AuthorizationHeaderMalformed', 'region'],
    [301, 'PermanentRedirect', 'region'],
    [507, undefined, 'full'],
    [507, 'XMinioStorageFull', 'full'],
    [403, 'QuotaExceeded', 'full'],
    [413, undefined, 'tooLarge'],
    [501, undefined, 'unsupported'],
    [501, 'NotImplemented', 'unsupported'],
    [403, 'SecondLevelDomainForbidden', 'addressing'],
    [403, 'PathStyleDomainForbidden', 'addressing'],
    [503, 'SlowDown', 'failed'],
    [500, 'InternalError', 'failed'],
    [429, undefined, 'failed'],
    [418, undefined, 'refused'],
    [400, 'constructor', 'refused'],
  ];
  for (const [status, code, reason] of answers)
    it(`is "${reason}" for an answer ${status} ${code ?? 'without a code'}`, () => {
      expect(classifyAnswer(status, code)).to.equal(reason);
    });

  const failures: [string, unknown, string][] = [
    ['a refused connection', { code: 'ECONNREFUSED' }, 'unreachable'],
    ['a broken connection', { code: 'ECONNRESET' }, 'unreachable'],
    ['a time-out of the system', { code: 'ETIMEDOUT' }, 'slow'],
    ['a time-out of ours', new DOMException('late', 'TimeoutError'), 'slow'],
    ['a bad certificate', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'certificate'],
    ['a private address', new EgressError('address'), 'address'],
    ['plain http', new EgressError('scheme'), 'address'],
  ];
  for (const [what, error, reason] of failures)
    it(`is "${reason}" for ${what}`, () => {
      expect(classifyFailure(error)).to.equal(reason);
    });

  it('says nothing of what the network said', () => {
    const cause = new Error('connect ECONNREFUSED 10.0.0.7:9000');
    expect(new StorageError('unreachable', cause).message).to.equal('cannot be reached');
    expect(new UploadError(toUploadReason('address'), cause).message).to.equal(
      'The output bucket could not be reached.',
    );
  });
});

describe('the disposition of an attachment', () => {
  const names: [string, string][] = [
    ['cat.png', 'attachment; filename="cat.png"'],
    ['a"b.png', `attachment; filename="a_b.png"; filename*=UTF-8''a%22b.png`],
    ['ü.png', `attachment; filename="_.png"; filename*=UTF-8''%C3%BC.png`],
    ['x\r\ny: z', `attachment; filename="x__y: z"; filename*=UTF-8''x%0D%0Ay%3A%20z`],
  ];
  for (const [name, header] of names)
    it(`writes ${JSON.stringify(name)} so that no header breaks`, () => {
      expect(formatDisposition(name)).to.equal(header);
    });
});
