import { expect } from 'chai';
import { parse } from 'yaml';
import { formatManifest, KUBECTL_YAML, parseManifest } from '../../../console/web/deployment/yaml-text.ts';

/** What kubectl's parser (sigs.k8s.io/yaml 1.6.0) makes of plain words. */
const READ_BY_KUBECTL: [text: string, value: unknown][] = [
  ['off', false],
  ['on', true],
  ['No', false],
  ['YES', true],
  ['1_000', 1000],
  ['0b11', 3],
  ['017', 15],
  ['0x1F', 31],
  ['~', null],
  ['1.5', 1.5],
  ['10:30', '10:30'],
  ['190:20:30.15', '190:20:30.15'],
  ['2030-01-01', '2030-01-01'],
  ['2030-01-01T10:00:00Z', '2030-01-01T10:00:00Z'],
  ['10Gi', '10Gi'],
  ['text', 'text'],
];

const escapePattern = (word: string): string => word.replace(/[.*+^$<=]/g, '\\$&');

describe('YAML of manifests', () => {
  it('is read as kubectl reads it', () => {
    for (const [text, value] of READ_BY_KUBECTL) expect(parse(text, KUBECTL_YAML), text).to.deep.equal(value);
    expect(parseManifest('env: off')).to.deep.equal({ env: false });
  });

  it('keeps strings and names that are other types unless quoted, in YAML 1.1 or 1.2', () => {
    const words = [
      ...READ_BY_KUBECTL.map(([text]) => text),
      'y',
      'N',
      '0o7',
      '-0o7',
      '<<',
      '=',
      '.5',
      '+1',
      '.inf',
    ];
    const manifest = { list: words, named: Object.fromEntries(words.map((word) => [word, word])) };
    const text = formatManifest(manifest);
    expect(parseManifest(text)).to.deep.equal(manifest);
    expect(parse(text)).to.deep.equal(manifest);
    for (const word of words.filter((each) => !['10Gi', 'text'].includes(each)))
      expect(text, word).to.match(new RegExp(`- (['"])${escapePattern(word)}\\1`));
  });

  it('needs no quotes for quantities, images and other text', () => {
    const manifest = { memory: '10Gi', cpu: 2, image: 'registry.example.com/vllm:0.32.0', isPaused: false };
    expect(formatManifest(manifest)).to.equal(
      'memory: 10Gi\ncpu: 2\nimage: registry.example.com/vllm:0.32.0\nisPaused: false\n',
    );
  });
});
