import { expect } from 'chai';
import {
  joinSigningSecrets,
  readSigningSecrets,
  splitSigningSecrets,
} from '../../../../api/signing-secret.ts';
import { signDelivery } from '../../../../gateway/webhooks/signature.ts';

const BODY = Buffer.from('{}');
const UNTIL = Date.parse('2026-01-02T00:00:00Z');
const sign = (secrets: Parameters<typeof signDelivery>[1], at: number) =>
  signDelivery(BODY, secrets, at).split(',');

describe('a rolled signing secret', () => {
  const texts = { secret: 'new', previous: 'old', 'previous-until': '2026-01-02T00:00:00Z' };
  const both = readSigningSecrets(texts)!;
  const alone = (current: string) => ({ current, previous: null });

  it('signs beside the old one until its time is over', () => {
    const before = UNTIL - 1_000;
    const [time, first, second, ...rest] = sign(both, before);
    expect([time, rest]).to.deep.equal([`t=${before / 1_000}`, []]);
    expect([first, second]).to.deep.equal([sign(alone('new'), before)[1], sign(alone('old'), before)[1]]);
    expect(sign(both, UNTIL)).to.deep.equal(sign(alone('new'), UNTIL));
  });

  it('survives being sealed as one text', () => {
    const none = new Map();
    const endpoints = new Map([
      ['one', both],
      ['two', alone('its own')],
    ]);
    for (const secrets of [
      { workspace: both, endpoints: none },
      { workspace: both, endpoints },
      { workspace: alone('new'), endpoints },
    ])
      expect(splitSigningSecrets(joinSigningSecrets(secrets))).to.deep.equal(secrets);
    expect(joinSigningSecrets({ workspace: alone('new'), endpoints: none })).to.equal('new');
    expect(splitSigningSecrets('new')).to.deep.equal({ workspace: alone('new'), endpoints: none });
  });

  it('has no old one where the Secret names no time or no secret', () => {
    expect(readSigningSecrets({ secret: 'new', previous: 'old' })).to.deep.equal(alone('new'));
    expect(readSigningSecrets({ secret: 'new', previous: 'old', 'previous-until': 'soon' })).to.deep.equal(
      alone('new'),
    );
    expect(readSigningSecrets({ previous: 'old' })).to.equal(undefined);
  });
});
