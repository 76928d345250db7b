import { expect } from 'chai';
import { applySharedLimits } from '../../../../gateway/front/directory.ts';
import { describeModel } from '../../../support/model-replica.ts';

describe("a front's own limits", () => {
  const MIB = 1024 * 1024;
  const shared = {
    jsonBodyBytes: 32 * MIB,
    fileBytes: 50 * MIB,
    multipartBodyBytes: 64 * MIB,
    promptCharacters: 250_000,
    bodyTimeoutMs: 60_000,
    uploadTimeoutMs: 300_000,
  };

  it('hold whatever a deployment allows, and leave its smaller ones', () => {
    const limits = {
      jsonBody: '160Mi',
      file: '1Mi',
      multipartBody: '10Ti',
      promptCharacters: 1_000_000,
      uploadTimeout: '24d',
      bodyTimeout: '5s',
    };
    const config = describeModel({ limits });
    const { limits: applied } = applySharedLimits(config, shared);
    expect(applied).to.deep.equal({ ...config.limits, ...shared, fileBytes: MIB, bodyTimeoutMs: 5_000 });
    expect(config.limits.jsonBodyBytes).to.equal(160 * MIB);
  });
});
