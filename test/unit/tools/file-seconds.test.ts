import { expect } from 'chai';
import { divideEvenly, sortByDuration } from '../../../tools/file-seconds.ts';

const pathOf = (name: string) => `test/console/${name}.test.ts`;
/** 190, 115, 50 and 40 s, and two that are not listed. */
const SCENES = pathOf('accessibility-scenes');
const PAGES = pathOf('accessibility-pages');
const WEBHOOKS = pathOf('webhooks');
const FAULTS = pathOf('faults');
const NEW = pathOf('newcomer');
const NEWER = pathOf('newest');

describe('files of tests that run side by side', () => {
  it('start with the longest, and go on as they were listed', () => {
    expect(sortByDuration([NEWER, NEW, PAGES, SCENES])).to.deep.equal([SCENES, PAGES, NEWER, NEW]);
  });

  it('are divided so that each part takes about as long, in the order that they had', () => {
    const files = [PAGES, SCENES, FAULTS, WEBHOOKS, NEW, NEWER];
    expect(divideEvenly(files, 2)).to.deep.equal([
      [SCENES, NEW, NEWER],
      [PAGES, FAULTS, WEBHOOKS],
    ]);
  });

  it('are in no more parts than there are files', () => {
    expect(divideEvenly([NEW], 2)).to.deep.equal([[NEW]]);
    expect(divideEvenly([], 2)).to.deep.equal([[]]);
  });
});
