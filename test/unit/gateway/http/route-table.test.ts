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
    ['/v1/files', ['file_upload', 'file_list']],
    ['/v1/files/file_1', ['file', 'file_delete']],
    ['/v1/files/file_1/content', ['file_content']],
    ['/v1/batches', ['batch_create', 'batch_list']],
    ['/v1/batches/batch_1/cancel', ['batch_cancel']],
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

  it('lists of the text routes those that the engine serves', () => {
    const model = { kind: 'LLM' as const, routes: ['/v1/completions', '/v1/embeddings'] };
    expect(ROUTES.listInference(model)).to.deep.equal(['/v1/completions']);
    expect(ROUTES.listFor(model))
      .to.include('/v1/completions')
      .and.include('/v1/models')
      .and.not.include('/v1/chat/completions');
  });

  it('lists the routes of images and videos by the kind of model alone', () => {
    expect(ROUTES.listInference({ kind: 'Image', routes: [] })).to.deep.equal([
      '/v1/images/generations',
      '/v1/images/edits',
    ]);
    expect(ROUTES.listInference({ kind: 'Video', routes: [] })).to.deep.equal([
      '/v1/videos',
      '/v1/videos/generations',
    ]);
  });
});
