import { expect } from 'chai';
import { filterExposition } from '../../../../gateway/sidecar/exposition.ts';
import { expectLinear } from '../../../support/growth.ts';

const filter = (text: string, more: object = {}) =>
  filterExposition(text, { labels: { deployment: 'chat' }, ...more });

describe("an engine's exposition", () => {
  it('keeps families with their help and type, whatever their labels contain', () => {
    const text = [
      '# HELP vllm:e2e_seconds Time, with a } and a "quote".',
      '# TYPE vllm:e2e_seconds histogram',
      'vllm:e2e_seconds_bucket{le="0.5",name="a\\"} 1\\n{"} 4.0',
      'vllm:e2e_seconds_bucket{le="+Inf",} 5e+2',
      'vllm:e2e_seconds_sum 0.5',
      'te_queue_size NaN',
    ];
    expect(filter(`${text.join('\n')}\r\n`)).to.deep.equal({
      text: [
        text[0],
        text[1],
        'vllm:e2e_seconds_bucket{deployment="chat",le="0.5",name="a\\"} 1\\n{"} 4.0',
        'vllm:e2e_seconds_bucket{deployment="chat",le="+Inf"} 5e+2',
        'vllm:e2e_seconds_sum{deployment="chat"} 0.5',
        'te_queue_size{deployment="chat"} NaN',
      ].join('\n'),
      series: 4,
      dropped: 0,
    });
  });

  it('lets no engine take the labels of its target or of its deployment', () => {
    expect(filter('a{job="x",deployment="other",mine="y"} 1').text).to.equal(
      'a{deployment="chat",exported_job="x",exported_deployment="other",mine="y"} 1',
    );
  });

  it("drops samples with a label that comes twice, if only under its other name, or that is Prometheus' own", () => {
    const samples = ['a{job="x",exported_job="y"} 1', 'a{__name__="berth_engine_up"} 1', 'a{b="1",b="2"} 1'];
    expect(filter(samples.join('\n'))).to.deep.equal({ text: '', series: 0, dropped: 3 });
  });

  it('leaves out the process, the web server and what only Berth may say', () => {
    const text =
      '# TYPE python_gc counter\npython_gc 1\nprocess_x 1\nhttp_requests_total 1\nberth_engine_up 1\n';
    expect(filter(text)).to.deep.equal({ text: '', series: 0, dropped: 0 });
  });

  it('takes time in proportion to a line, whatever is in it', () => {
    for (const unit of ['1', ' ', '1.', '1 '])
      expectLinear((length) => filter(`a ${unit.repeat(length / unit.length)}x`), unit, 500);
  });

  it('drops lines that would cost Prometheus the whole scrape', () => {
    const lines = [
      'a{b="1"',
      'a{b="1",b="2"} 1',
      'a{b=1} 1',
      'a{b="\\x"} 1',
      'a 1 2 3',
      'a one',
      '1a 1',
      'a',
      `a{b="${'x'.repeat(5_000)}"} 1`,
      'a 1 # {trace_id="1"} 1',
    ];
    expect(filter([...lines, 'good 1'].join('\n'))).to.deep.equal({
      text: 'good{deployment="chat"} 1',
      series: 1,
      dropped: lines.length,
    });
    expect(filter('# TYPE a nonsense\n# something\n# TYPE a gauge').text).to.equal('# TYPE a gauge');
  });

  it('is bounded in series and lines', () => {
    const text = Array.from({ length: 1_000 }, (_, i) => `a{i="${i}"} 1`).join('\n');
    const { series, dropped } = filter(text, { maxSeries: 100 });
    expect([series, dropped]).to.deep.equal([100, 900]);
    expect(filter('#\n'.repeat(1_000_000), { maxLines: 10 }).dropped).to.equal(1);
  });

  it('takes no longer for what was written to take long', () => {
    const began = process.cpuUsage();
    filter(`a{${'b'.repeat(4_000)}\n`.repeat(2_000));
    filter(`a{b="${'\\\\'.repeat(2_000)}\n`.repeat(2_000));
    filter(`a${' '.repeat(4_000)}x\n`.repeat(2_000));
    expect(process.cpuUsage(began).user).to.be.below(2_000_000);
  });
});
