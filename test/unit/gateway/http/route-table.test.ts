import { expect } from 'chai';
import { ROUTES } from '../../../../gateway/http/routes.ts';

describe('route table', () => {
  const find = (path: string): string[] => {
    const match = ROUTES.match(path);
    return match ? [...match.methods.values()].map(({ name }) => name) : [];
  };

  const paths: [string, string[]][] = [
    ['/v1/models', ['models']],
    ['/v1/models/berth/tiny-chat', ['model']],
    ['/v1/videos/req_1', ['video', 'video_delete']],
    ['/v1/videos/req_1/content', ['video_content']],
    ['/v1/requests/req_1/cancel', ['request_cancel']],
    ['/v1/videos/req_1/remix', ['video_remix']],
    ['/v1/videos', ['videos', 'video_list']],
    ['/v1/videos/req_1/content/0', []],
    ['/v1/videos//content', []],
    ['/v1/requests/req_1/events', []],
    ['/v1/requests/', []],
    ['/v1/models/', []],
  ];
  for (const [path, names] of paths)
    it(`leads ${path} to ${names.join(' and ') || 'nothing'}`, () => {
      expect(find(path)).to.deep.equal(names);
    });
});
