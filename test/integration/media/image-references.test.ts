import { expect } from 'chai';
import { type LoopbackServer, startHttpServer, startHttpsServer } from '../../support/loopback-server.ts';
import { makePicture } from '../../support/media-files.ts';
import { pollUntil } from '../../support/poll.ts';
import { makeCertificates } from '../../support/test-certificates.ts';
import { type DNSServer, startDNSServer } from '../egress/dns-server.ts';
import {
  expectRefusal,
  type Intakes,
  makeFile,
  type Outcome,
  type Refusal,
  sendForm,
  sendJSON,
  startIntakes,
} from './intake-calls.ts';

type Name = 'image' | 'video' | 'several' | 'words' | 'small';

/** An object in place of a file, in each encoding. */
const ENCODINGS = ['JSON', 'a form'] as const;
type Encoding = (typeof ENCODINGS)[number];

describe('images that a request refers to', () => {
  let intakes: Intakes<Name>;
  let dns: DNSServer;
  let images: LoopbackServer;
  let inside: LoopbackServer;
  let picture: Buffer;
  let origin: string;
  let fetched: string[] = [];
  /** Answers that did not go out whole. */
  let brokenOff = 0;

  before(async () => {
    picture = await makePicture(64, 48);
    const certificates = makeCertificates('DNS:images.test');
    dns = await startDNSServer();
    dns.zone.set('images.test', () => ['127.0.0.1']);
    dns.zone.set('inside.test', () => ['127.0.0.2']);
    images = await startHttpsServer((req, res) => {
      fetched.push(req.url!);
      res.once('close', () => (brokenOff += res.writableFinished ? 0 : 1));
      const answers: Record<string, () => void> = {
        '/page.png': () => res.end('<!doctype html>'),
        '/a.gif': () => res.end('GIF89a'),
        '/half.png': () => res.end(picture.subarray(0, -12)),
        '/bomb.png': () => res.end(claimPixels(8_000, 8_001)),
        '/away.png': () => res.writeHead(302, { location: `https://inside.test:${inside.port}/` }).end(),
        '/moved.png': () => res.writeHead(301, { location: '/a.png' }).end(),
        '/large.png': () => res.end(Buffer.concat([picture, Buffer.alloc(40_000)])),
        '/nothing.png': () => res.writeHead(404).end(),
        '/slow.png': () => res.write(picture),
      };
      (answers[req.url!] ?? (() => res.end(picture)))();
    }, certificates);
    inside = await startHttpServer((_, res) => res.end(picture), '127.0.0.2');
    origin = `https://images.test:${images.port}`;
    const tasks = ['txt2img', 'img2img'];
    const resolutions = ['480x832'];
    intakes = await startIntakes(
      {
        image: { kind: 'Image', image: { tasks } },
        video: { kind: 'Video', video: { resolutions, tasks: ['t2v', 'i2v'] } },
        several: { kind: 'Video', video: { resolutions, tasks: ['i2v'], references: 3 } },
        words: { kind: 'Video', video: { resolutions } },
        small: { kind: 'Image', image: { tasks }, limits: { file: '30k', multipartBody: '50k' } },
      },
      { allow: ['127.0.0.1'], deny: [], plainHTTP: false, servers: [dns.address], ca: certificates.ca },
    );
  });
  after(async () => {
    await intakes?.stop();
    await Promise.all([dns?.stop(), images?.stop(), inside?.stop()]);
  });
  beforeEach(() => {
    fetched = [];
    brokenOff = 0;
  });
  afterEach('nothing lies in a spool, and nothing inside was reached', () => {
    intakes.expectNothingSpooled();
    expect(inside.connections).to.equal(0);
  });

  /** The picture with other dimensions in its header. */
  function claimPixels(width: number, height: number): Buffer {
    const bytes = Buffer.from(picture);
    bytes.writeUInt32BE(width, 16);
    bytes.writeUInt32BE(height, 20);
    return bytes;
  }

  const dataURL = (bytes = picture) => `data:image/png;base64,${bytes.toString('base64')}`;
  const refer = (url: string) => ({ image_url: url });

  interface Edit {
    images?: string[];
    mask?: string;
    query?: string;
    more?: Record<string, string>;
  }
  /** As OpenAI's reference has it, and as SDKs write the same into forms. */
  const edit = (
    encoding: Encoding,
    { images: urls = [dataURL()], mask, query = '', more = {} }: Edit,
    name: Name = 'image',
  ): Promise<Outcome> =>
    encoding === 'JSON'
      ? sendJSON(intakes.endpoints[name], `/v1/images/edits${query}`, {
          images: urls.map(refer),
          mask: mask === undefined ? null : refer(mask),
          ...more,
        })
      : sendForm(intakes.endpoints[name], `/v1/images/edits${query}`, {
          'images[][image_url]': urls,
          'mask[image_url]': mask ?? null,
          ...more,
        });
  const shoot = (encoding: Encoding, url: string, name: Name = 'video', more = {}): Promise<Outcome> => {
    const fields = { seconds: '5', size: '480x832', ...more };
    return encoding === 'JSON'
      ? sendJSON(intakes.endpoints[name], '/v1/videos', { ...fields, input_reference: refer(url) })
      : sendForm(intakes.endpoints[name], '/v1/videos', { ...fields, 'input_reference[image_url]': url });
  };
  const paramOf = (encoding: Encoding, json: string, form: string) => (encoding === 'JSON' ? json : form);

  for (const encoding of ENCODINGS)
    describe(`in ${encoding}`, () => {
      const image = paramOf(encoding, 'images[0].image_url', 'images[][image_url]');
      const reference = paramOf(encoding, 'input_reference.image_url', 'input_reference[image_url]');

      it('are edited like files, whether they are sent or linked to, in their order', async () => {
        const large = await makePicture(640, 480);
        const { request, message } = await edit(encoding, {
          images: [dataURL(), `${origin}/moved.png`, dataURL(large)],
          mask: `${origin}/mask.png`,
          more: { n: '2', seed: '5' },
        });
        expect(message).to.equal('');
        expect(
          request.images.map(({ bytes, contentType, fileName }) => [bytes, contentType, fileName]),
        ).to.deep.equal([
          [picture.length, 'image/png', 'image.png'],
          [picture.length, 'image/png', 'image-2.png'],
          [large.length, 'image/png', 'image-3.png'],
        ]);
        expect(request.mask).to.include({ bytes: picture.length, fileName: 'mask.png' });
        expect(request.parameters).to.include({ task: 'img2img', n: 2, seed: 5 });
        expect(fetched.sort()).to.deep.equal(['/a.png', '/mask.png', '/moved.png']);
      });

      it('begin a video', async () => {
        for (const url of [dataURL(), `${origin}/a.png`]) {
          const { request } = await shoot(encoding, url);
          expect(request.parameters).to.include({ task: 'i2v', size: '480x832', frames: 121 });
          expect(request.references).to.have.length(1);
          expect(request.references[0]).to.include({
            bytes: picture.length,
            contentType: 'image/png',
            fileName: 'input_reference.png',
          });
        }
      });

      it('may be in a queued request, but no mask may', async () => {
        const { request } = await edit(encoding, { query: '?async=true', images: [`${origin}/a.png`] });
        expect(request).to.include({ isAsync: true });
        fetched = [];
        expect(
          await edit(encoding, { query: '?async=true', images: [`${origin}/a.png`], mask: dataURL() }),
        ).to.include({ status: 400, code: 'async_mask_unsupported', param: 'mask' });
        expect(fetched).to.deep.equal([]);
      });

      const refused: [string, () => string, string, RegExp][] = [
        ['a page', () => `${origin}/page.png`, 'invalid_value', /is not an image/],
        ['a GIF', () => `${origin}/a.gif`, 'invalid_image', /is a GIF image: it must be a PNG, JPEG or WebP/],
        ['half an image', () => `${origin}/half.png`, 'invalid_image', /truncated/],
        ['a bomb', () => `${origin}/bomb.png`, 'invalid_image', /8000x8001.*64 megapixels/],
        ['what is not there', () => `${origin}/nothing.png`, 'invalid_value', /returned status 404/],
        ['a way inside', () => `${origin}/away.png`, 'invalid_value', /public address/],
        ['a name inside', () => 'https://inside.test/', 'invalid_value', /public address/],
        ['an address inside', () => 'https://127.0.0.2/a.png', 'invalid_value', /public address/],
        ['metadata', () => 'https://169.254.169.254/', 'invalid_value', /public address/],
        ['plain HTTP', () => 'http://images.test/a.png', 'invalid_value', /https:\/\//],
        ['a GIF inline', () => dataURL(Buffer.from('GIF89a')), 'invalid_image', /is a GIF image/],
        ['half an image inline', () => dataURL(picture.subarray(0, -12)), 'invalid_image', /truncated/],
        ['a bomb inline', () => dataURL(claimPixels(8_000, 8_001)), 'invalid_image', /64 megapixels/],
        ['no base64', () => 'data:image/png,x', 'invalid_value', /base64/],
        ['a word', () => 'ship.png', 'invalid_value', /https: URL, or a data: URL/],
      ];
      for (const [what, url, code, message] of refused)
        it(`are refused where they are ${what}`, async () => {
          for (const [answer, param] of [
            [await edit(encoding, { images: [url()] }), image],
            [await shoot(encoding, url()), reference],
          ] as const) {
            expect(answer, answer.message).to.include({ status: 400, code, param });
            expect(answer.message).to.match(message);
          }
        });

      it('are at most 16, of which none is read where there are more', async () => {
        const answer = await edit(encoding, { images: Array(17).fill(`${origin}/a.png`) });
        expect(answer).to.include({ status: 400, code: 'array_above_max_length' });
        expect(answer.message).to.contain('at most 16');
        expect(fetched).to.deep.equal([]);
      });

      it('are fetched only for a request that is valid otherwise', async () => {
        for (const more of [{ n: 'two' }, { size: '1x1' }, { model: 'other' }] as Record<string, string>[])
          expect((await edit(encoding, { images: [`${origin}/a.png`], more })).status).to.be.within(400, 422);
        const words = await shoot(encoding, `${origin}/a.png`, 'words');
        expect(words).to.include({ status: 400, param: 'input_reference' });
        expect(fetched).to.deep.equal([]);
      });

      it('are bounded each and together like files', async () => {
        const [large, file] = [Buffer.concat([picture, Buffer.alloc(30_000)]), `${origin}/large.png`];
        for (const url of [dataURL(large), file])
          expect(await edit(encoding, { images: [url] }, 'small')).to.include({
            status: 413,
            code: 'request_too_large',
            param: image,
          });
        const together = await edit(encoding, { images: [file, file] }, 'small');
        expect(together.status).to.be.oneOf([400, 413]);
      });

      it('break off with one that cannot be used', async () => {
        const answer = await edit(encoding, { images: [`${origin}/slow.png`, `${origin}/nothing.png`] });
        expect(answer.message).to.contain('returned status 404');
        if (fetched.includes('/slow.png')) await pollUntil(() => brokenOff === 1, 'the end of the other');
      });
    });

  const broken: [string, unknown][] = [
    ['a text', 'https://example.com/'],
    ['a number', 5],
    ['nothing within', {}],
    ['null within', { image_url: null }],
    ['a number within', { image_url: 5 }],
    ['an object within', { image_url: { url: 'https://example.com/' } }],
    ['a list within', [['https://example.com/']]],
  ];
  for (const [what, value] of broken)
    it(`answer 400 with what is allowed to ${what} in JSON`, async () => {
      for (const [path, name, field] of [
        ['/v1/images/edits', 'image', 'images'],
        ['/v1/images/edits', 'image', 'image'],
        ['/v1/videos', 'video', 'input_reference'],
      ] as const) {
        const more = { seconds: 5, size: '480x832', [field]: value };
        const answer = await sendJSON(
          intakes.endpoints[name],
          path,
          name === 'video' ? more : { [field]: value },
        );
        expect(answer).to.include({ status: 400, code: 'invalid_type' });
        expect(answer.param).to.match(new RegExp(`^${field}`));
        expect(answer.message).to.contain('image_url').and.contain('https:').and.contain('data:');
      }
    });

  const files: Refusal[] = [
    [
      'in JSON',
      () => sendJSON(intakes.endpoints.image, '/v1/images/edits', { images: [{ file_id: 'file-1' }] }),
      400,
      'unsupported_parameter',
      'images[0].file_id',
    ],
    [
      'as a mask',
      () =>
        sendJSON(intakes.endpoints.image, '/v1/images/edits', {
          images: [{ image_url: 'https://example.com/a.png' }],
          mask: { file_id: 'file-1' },
        }),
      400,
      'unsupported_parameter',
      'mask.file_id',
    ],
    [
      'in a form',
      () =>
        sendForm(intakes.endpoints.video, '/v1/videos', {
          seconds: '5',
          size: '480x832',
          'input_reference[file_id]': 'file-1',
        }),
      400,
      'unsupported_parameter',
      'input_reference[file_id]',
    ],
  ];
  for (const refusal of files)
    it(`cannot be IDs of files, ${refusal[0]}`, async () => {
      await expectRefusal(refusal);
      expect((await refusal[1]()).message)
        .to.contain('stores no files')
        .and.contain('image_url');
    });

  it('may be files and references of one form, under either name', async () => {
    const { request } = await sendForm(intakes.endpoints.image, '/v1/images/edits', {
      'image[1][image_url]': dataURL(),
      'image[0]': makeFile(await makePicture(640, 480)),
      'images[2]': makeFile(picture),
    });
    expect(request.images.map(({ fileName }) => fileName)).to.deep.equal([
      'image.png',
      'image-2.png',
      'image-3.png',
    ]);
    expect(request.images[0]!.bytes).to.not.equal(picture.length);
  });

  it('may be several of a video, in a list', async () => {
    const { request } = await sendJSON(intakes.endpoints.several, '/v1/videos', {
      seconds: 5,
      size: '480x832',
      input_reference: [refer(dataURL()), refer(`${origin}/a.png`)],
    });
    expect(request.references).to.have.length(2);
  });

  it('are longer than any text of a form where they are inline', async () => {
    const large = await makePicture(1_000, 1_000);
    const padded = Buffer.concat([large.subarray(0, -12), makeComment(2_000_000), large.subarray(-12)]);
    const { request, message } = await shoot('a form', dataURL(padded));
    expect(message).to.equal('');
    expect(request.references[0]!.bytes).to.equal(padded.length);
  });

  it('are let go of where the client leaves while they are fetched', async () => {
    const leave = new AbortController();
    const response = fetch(`${intakes.endpoints.image.origin}/v1/images/edits`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'berth/chat', prompt: 'A ship', images: [refer(`${origin}/slow.png`)] }),
      signal: leave.signal,
    }).catch(() => null);
    await pollUntil(() => fetched.length === 1, 'the fetch');
    leave.abort();
    await response;
    await pollUntil(() => brokenOff === 1, 'the end of the fetch');
    await pollUntil(() => intakes.endpoints.image.listSpooled().length === 0, 'an empty spool');
  });
});

/** A PNG chunk that decoders skip. */
function makeComment(length: number): Buffer {
  const chunk = Buffer.alloc(12 + length);
  chunk.writeUInt32BE(length);
  chunk.write('teXt', 4, 'latin1');
  return chunk;
}
