import { expect } from 'chai';
import { isLinkSkewed } from '../../../../gateway/storage/link-clock.ts';

const LINK = 'https://s3.example.com/results/a.png?X-Amz-Date=20261127T170000Z&X-Amz-Expires=900';

describe('the clock of whoever signed a link', () => {
  const cases: [string, string | undefined, boolean][] = [
    ['the same', 'Fri, 27 Nov 2026 17:00:01 GMT', false],
    ['9 minutes earlier', 'Fri, 27 Nov 2026 17:09:00 GMT', false],
    ['9 minutes later', 'Fri, 27 Nov 2026 16:51:00 GMT', false],
    ['11 minutes earlier', 'Fri, 27 Nov 2026 17:11:00 GMT', true],
    ['11 minutes later', 'Fri, 27 Nov 2026 16:49:00 GMT', true],
    ['another day', 'Sat, 28 Nov 2026 17:00:00 GMT', true],
    ['unknown, without a date', undefined, false],
    ['unknown, with a date that is none', 'yesterday', false],
  ];
  for (const [what, date, isSkewed] of cases)
    it(`is ${isSkewed ? 'too far' : 'not too far'} from the store's where it is ${what}`, () => {
      expect(isLinkSkewed(LINK, date)).to.equal(isSkewed);
    });

  it('does not matter to links without a date of signing', () => {
    for (const link of ['http://127.0.0.1/a?expires=1', 'https://s3/a?X-Amz-Date=now', 'none'])
      expect(isLinkSkewed(link, 'Fri, 27 Nov 2026 17:00:00 GMT')).to.equal(false);
  });
});
