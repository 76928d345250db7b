/** Pure functions of the pages of deployments. */
import { expect } from 'chai';
import { parse } from 'yaml';
import { readWarnings } from '../../../console/server/kubernetes/client.ts';
import { diffLines } from '../../../console/web/deployment/diff.ts';
import { findLines, LogBuffer } from '../../../console/web/deployment/log-buffer.ts';
import { type NewDeployment, writeNewManifest } from '../../../console/web/deployment/new-manifest.ts';
import { parseManifest } from '../../../console/web/deployment/yaml-text.ts';

describe('the comparison of two manifests', () => {
  const show = (before: string, after: string) =>
    diffLines(before, after).map(({ kind, text }) => `${kind[0]} ${text}`);

  it('is empty where nothing differs', () => {
    expect(diffLines('a\nb', 'a\nb')).to.deep.equal([]);
  });

  it('shows what goes and what comes, with three lines around it', () => {
    const lines = ['1', '2', '3', '4', 'old', '5', '6', '7', '8'];
    const changed = lines.with(4, 'new').join('\n');
    const expected = ['s …', 's 2', 's 3', 's 4', 'r old', 'a new', 's 5', 's 6', 's 7', 's …'];
    expect(show(lines.join('\n'), changed)).to.deep.equal(expected);
  });

  it('finds lines that were inserted between equal ones', () => {
    expect(show('a\nb\na\nb', 'a\nb\nx\na\nb')).to.deep.equal(['s a', 's b', 'a x', 's a', 's b']);
  });

  it('shows everything as replaced where there is too much to compare', () => {
    const many = (prefix: string) => Array.from({ length: 3_000 }, (_, i) => prefix + i).join('\n');
    const kinds = diffLines(many('a'), many('b')).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'added')).to.have.length(3_000);
  });
});

describe('the log on the page', () => {
  const control = String.fromCharCode(27);
  const read = (...chunks: string[]) => {
    const buffer = new LogBuffer();
    for (const chunk of chunks) buffer.add(chunk);
    return buffer.text;
  };

  it('puts lines together that came in pieces', () => {
    expect(read('on', 'e\ntw', 'o')).to.equal('one\ntwo');
  });

  it('leaves out colors, and what a progress bar wrote before', () => {
    expect(read(`${control}[32mINFO${control}[0m ready\r\n`, '10 %\r50 %\r100 %\n')).to.equal(
      'INFO ready\n100 %',
    );
  });

  it('follows a progress bar that never ends its line', () => {
    const steps = Array.from({ length: 2_000 }, (_, step) => `${step} of 2000\r`);
    expect(read(...steps)).to.equal('1999 of 2000');
    expect(read('old\r', '\nnew')).to.equal('old\nnew');
  });

  it('keeps the last 5,000 lines, and 4,000 characters of each', () => {
    const text = read(`${'x\n'.repeat(6_000)}${'y'.repeat(10_000)}`);
    const lines = text.split('\n');
    expect([lines.length, lines.at(-1)!.length]).to.deep.equal([5_001, 4_000]);
  });

  it('is searched by line, in any case', () => {
    const found = findLines('Loading\nERROR: out of memory\nready\nerror', ' error ');
    expect(found).to.include({ text: 'ERROR: out of memory\nerror', count: 2, total: 4 });
    expect(findLines('one\ntwo', ' ')).to.include({ text: 'one\ntwo', isFiltered: false });
  });
});

describe('the manifest of a new deployment', () => {
  const wanted: NewDeployment = {
    name: 'chat',
    kind: 'LLM',
    preset: 'vllm',
    modelId: '',
    repo: 'acme/model',
    image: '',
    args: '--a=1\n\n  --b="x: y" # no comment\n',
    gpus: 2,
    gpuMemory: 24,
    size: { min: 0, max: 3 },
  };

  it('has the repository as the model where none is named, and each argument as it is', () => {
    const { spec } = parse(writeNewManifest(wanted, 'team'));
    expect(spec.model).to.deep.equal({ id: 'acme/model', source: { huggingFace: { repo: 'acme/model' } } });
    expect(spec.engine.args).to.deep.equal(['--a=1', '--b="x: y" # no comment']);
    expect(spec).to.deep.include({ gpu: { count: 2, memory: '24Gi' }, scaling: { min: 0, max: 3 } });
  });

  for (const text of ['true', 'null', '12', '1e3', 'a: b', '# x', '"', "'", '[', '- x', '*a', 'No'])
    it(`keeps a text: ${text}`, () => {
      const manifest = parse(writeNewManifest({ ...wanted, name: text, modelId: text, repo: text }, 'team'));
      const { model } = manifest.spec;
      expect([manifest.metadata.name, model.id, model.source.huggingFace.repo]).to.deep.equal([
        text,
        text,
        text,
      ]);
    });

  it('says in which line it cannot be read', () => {
    expect(() => parseManifest('a: b\nc: [')).to.throw(/line 2/);
    expect(() => parseManifest('text')).to.throw(/not a manifest/);
  });
});

describe('warnings of the API server', () => {
  for (const [header, expected] of [
    [undefined, []],
    ['299 - "one"', ['one']],
    ['299 - "one, two", 299 - "three"', ['one, two', 'three']],
    [
      ['299 - "one"', '299 - "a \\"quoted\\" word"'],
      ['one', 'a "quoted" word'],
    ],
    ['110 - "stale"', []],
  ] as [string | string[] | undefined, string[]][])
    it(`are ${JSON.stringify(expected)} of ${JSON.stringify(header)}`, () => {
      expect(readWarnings(header)).to.deep.equal(expected);
    });
});
