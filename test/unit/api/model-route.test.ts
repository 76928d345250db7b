import { expect } from 'chai';
import { decideBalance, type RouteBalance } from '../../../api/model-route.ts';

const decide = (kind: string, args: string[] = [], balance?: RouteBalance) =>
  decideBalance({ kind, engine: { args }, route: { balance } });

describe('how a request finds its replica', () => {
  it('is by prefix for language models, by load for all others', () => {
    expect(decide('LLM')).to.equal('Prefix');
    expect(['Embedding', 'Rerank', 'Image', 'Video'].map((kind) => decide(kind))).to.deep.equal(
      Array(4).fill('LeastLoaded'),
    );
  });

  it('is by load where the engine caches no prefixes', () => {
    expect(decide('LLM', ['--no-enable-prefix-caching'])).to.equal('LeastLoaded');
    expect(decide('LLM', ['--enable-prefix-caching'])).to.equal('Prefix');
  });

  it('is as the deployment says', () => {
    expect(decide('LLM', [], 'LeastLoaded')).to.equal('LeastLoaded');
    expect(decide('LLM', ['--disable-radix-cache'], 'Prefix')).to.equal('Prefix');
  });
});
