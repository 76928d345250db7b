import { expect } from 'chai';
import { findUnknownWords, loadHelpFlags, readHelpFlags } from '../../../engines/help-flags.ts';
import { listCommandFlags } from '../../../engines/preset-commands.ts';
import { readPresetVersion } from '../../../engines/preset-version.ts';

/** Compared with the help texts that `make test-engines` records, each by the version that it ran. */
describe('the flags of a preset', () => {
  for (const engine of ['vllm', 'vllm-omni', 'llama-cpp', 'sglang', 'sglang-diffusion'] as const) {
    const help = loadHelpFlags(engine);
    if (!help) continue;

    it(`are those of ${engine}, with values that it takes`, () => {
      // The stage runs Debian's build of llama.cpp, whatever the image has.
      const words = listCommandFlags(engine, engine === 'llama-cpp' ? undefined : help.version);
      expect(words.length).to.be.greaterThan(4);
      expect(findUnknownWords(words, help)).to.deep.equal([]);
    });
  }

  it('were looked up of both engines of vLLM', () => {
    expect([loadHelpFlags('vllm'), loadHelpFlags('vllm-omni')]).not.to.include(undefined);
  });

  // The stage does not run it; the README of its repository has the help text of a minor version.
  it('are those of TEI, in the version that the preset’s image has', () => {
    const help = loadHelpFlags('tei')!;
    const words = listCommandFlags('tei');
    expect(words).to.include.members(['--max-client-batch-size=2048', '--hostname=127.0.0.1']);
    expect(findUnknownWords(words, help)).to.deep.equal([]);
    expect(readPresetVersion('tei'), 'look its flags up in the README of the new version').to.match(
      new RegExp(`^${help.version.replace('.', '\\.')}\\.`),
    );
  });

  it('are all that a preset can give', () => {
    expect(listCommandFlags('vllm').map((word) => word.split('=')[0])).to.include.members([
      '--enable-sleep-mode',
      '--hf-overrides',
      '--chat-template',
      '--tool-call-parser',
    ]);
    expect(listCommandFlags('vllm')).to.include('--scheduling-policy=priority');
    expect(listCommandFlags('sglang')).to.include('--attention-backend=triton');
  });
});

describe('the help of an engine', () => {
  it('is read as its flags, with all names, and the values of those that take one of a list', () => {
    const ofPython = `usage: serve [--not-this]

options:
  -h, --help            show this help message, or that of --this
  --host HOST           Address. (default: None)
  --scheduling-policy {fcfs,priority}
                        - "fcfs": in order, unlike
                        --priority that is no flag
  --enable-sleep-mode, --no-enable-sleep-mode
  --usp DEGREE, --ulysses-degree DEGREE
`;
    expect(readHelpFlags(ofPython)).to.deep.equal({
      flags: [
        '--enable-sleep-mode',
        '--help',
        '--host',
        '--no-enable-sleep-mode',
        '--scheduling-policy',
        '--ulysses-degree',
        '--usp',
        '-h',
      ],
      values: { '--scheduling-policy': ['fcfs', 'priority'] },
    });
    const ofLlama = `-h,    --help, --usage                  print usage
--pooling {none,mean,cls,last,rank}     pooling type, default is
                                        none
`;
    expect(readHelpFlags(ofLlama)).to.deep.equal({
      flags: ['--help', '--pooling', '--usage', '-h'],
      values: { '--pooling': ['none', 'mean', 'cls', 'last', 'rank'] },
    });
  });

  it('tells what of a command line the engine would refuse', () => {
    const help = { flags: ['--a', '--b', '-c'], values: { '--b': ['x', 'y'] } };
    expect(findUnknownWords(['--a=1', '--b=y', '--b', '-c'], help)).to.deep.equal([]);
    expect(findUnknownWords(['--a-b', '--b=z'], help)).to.deep.equal(['--a-b', '--b=z']);
  });
});
