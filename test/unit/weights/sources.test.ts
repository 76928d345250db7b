import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { startCheck } from '../../../weights/checksum.ts';
import { chooseFiles } from '../../../weights/hub-source.ts';
import { S3Source } from '../../../weights/s3-source.ts';
import { type Checksum, SourceError } from '../../../weights/source.ts';

const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest();

describe('the checksum of a file', () => {
  const bytes = randomBytes(100_000);
  const sums: Checksum[] = [
    { kind: 'sha256', hex: createHash('sha256').update(bytes).digest('hex') },
    { kind: 'md5', hex: md5(bytes).toString('hex') },
    { kind: 'git', hex: createHash('sha1').update('blob 100000\0').update(bytes).digest('hex') },
    {
      kind: 'md5-of-parts',
      hex: md5(
        Buffer.concat([0, 30_000, 60_000, 90_000].map((at) => md5(bytes.subarray(at, at + 30_000)))),
      ).toString('hex'),
      partBytes: 30_000,
    },
  ];
  const isRight = (checksum: Checksum | null, given: Buffer, step: number) => {
    const check = startCheck({ checksum, size: bytes.length });
    for (let at = 0; at < given.length; at += step) check.update(given.subarray(at, at + step));
    return check.isRight();
  };
  const wrong = Buffer.from(bytes);
  wrong[99_999]! ^= 1;

  for (const checksum of sums)
    it(`is right for exactly its bytes, however they come: ${checksum.kind}`, () => {
      for (const step of [7_777, 30_000, 45_000, 100_000]) {
        expect(isRight(checksum, bytes, step), String(step)).to.equal(true);
        expect(isRight(checksum, wrong, step), String(step)).to.equal(false);
      }
    });

  it('is not there for some sources', () => expect(isRight(null, wrong, 1_000)).to.equal(true));
});

describe('the files of a repository', () => {
  const choose = (...paths: string[]) =>
    chooseFiles(paths.map((path) => ({ path, size: 1, checksum: null }))).map(({ path }) => path);

  it('are those that an engine reads, once', () => {
    expect(
      choose(
        '.gitattributes',
        'README.md',
        'config.json',
        'tokenizer.model',
        'model.safetensors',
        'pytorch_model.bin',
        'original/consolidated.00.pth',
        'onnx/model.onnx',
        'text_encoder/model.safetensors',
        'chat_template.jinja',
      ),
    ).to.deep.equal([
      'config.json',
      'tokenizer.model',
      'model.safetensors',
      'text_encoder/model.safetensors',
      'chat_template.jinja',
    ]);
  });

  it('are the folders of a pipeline, without the copy of it in one file', () => {
    expect(choose('model_index.json', 'flux1-dev.safetensors', 'vae/model.safetensors')).to.deep.equal([
      'model_index.json',
      'vae/model.safetensors',
    ]);
  });

  it('are all there are where none is of safetensors', () => {
    expect(choose('config.json', 'pytorch_model.bin', 'model.gguf')).to.have.length(3);
  });
});

describe('a bucket that is asked with the identity of the pod', () => {
  it('refuses a pod without one, which is not given what others downloaded', async () => {
    const before = process.env;
    process.env = { AWS_EC2_METADATA_DISABLED: 'true', HOME: '/nonexistent' };
    try {
      const source = new S3Source({
        uri: 's3://models/a',
        endpoint: 'http://127.0.0.1:9',
        region: 'us-east-1',
        pathStyle: true,
        keys: undefined,
        workloadIdentity: true,
      });
      const error = await source.list(new AbortController().signal).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(SourceError);
      expect((error as SourceError).isTransient).to.equal(false);
    } finally {
      process.env = before;
    }
  });
});
