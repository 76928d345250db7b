import { expect } from 'chai';
import type { PublishedEndpoint } from '../../../../api/redis-keys.ts';
import {
  endpointSecretFields,
  listStaleFields,
  readEndpointSecrets,
} from '../../../../api/signing-secret.ts';
import { chooseSecret } from '../../../../gateway/webhooks/dispatcher.ts';

const URL_A = 'https://hooks.example.com/a';
const alone = (current: string) => ({ current, previous: null });
const secrets = { workspace: alone('shared'), endpoints: new Map([['own', alone('its own')]]) };
const endpoint = (url: string, hasOwnSecret: boolean): PublishedEndpoint => ({
  v: 1,
  url,
  eventTypes: [],
  enabled: true,
  ...(hasOwnSecret && { hasOwnSecret }),
});
const endpoints = new Map([
  ['own', endpoint(URL_A, true)],
  ['plain', endpoint('https://hooks.example.com/b', false)],
  ['early', endpoint('https://hooks.example.com/c', true)],
]);
const choose = (name: string, url: string) =>
  chooseSecret({ endpoint: name, url }, secrets, endpoints)?.current ?? null;

describe("an endpoint's own secret", () => {
  it('signs what goes to it, and nothing else', () => {
    expect(choose('own', URL_A)).to.equal('its own');
    expect(choose('plain', 'https://hooks.example.com/b')).to.equal('shared');
    expect(choose('', 'https://elsewhere.example.com/')).to.equal('shared');
  });

  it('signs a callback to the same URL, in any spelling', () => {
    expect(choose('', 'https://HOOKS.example.com/a#part')).to.equal('its own');
  });

  it('is never replaced by the secret of the workspace while it is not there', () => {
    expect(choose('early', 'https://hooks.example.com/c')).to.equal(null);
  });

  it('signs from the first event on, while the list of endpoints is a moment old', () => {
    const made = { ...secrets, endpoints: new Map([['new', alone('just made')]]) };
    const chosen = chooseSecret({ endpoint: 'new', url: URL_A }, made, new Map());
    expect(chosen?.current).to.equal('just made');
  });

  it('has fields of its own in the Secret, also where a name reads like a field of another', () => {
    const names = ['a', 'a-previous', 'a.previous', 'x'.repeat(253), `${'x'.repeat(252)}y`];
    const fields = names.flatMap((name) => Object.values(endpointSecretFields(name)));
    expect(new Set(fields).size).to.equal(3 * names.length);
    for (const field of fields) expect(field).to.match(/^[-._a-zA-Z0-9]{1,253}$/);
  });

  it('is read from there, and its fields are stale once nobody needs them', () => {
    const { secret, previous, previousUntil } = endpointSecretFields('own');
    const texts = {
      secret: 'shared',
      [secret]: 'new',
      [previous]: 'old',
      [previousUntil]: '2026-01-02T00:00:00Z',
    };
    const until = Date.parse('2026-01-02T00:00:00Z');
    expect(readEndpointSecrets(texts, ['own', 'none'])).to.deep.equal(
      new Map([['own', { current: 'new', previous: { secret: 'old', until } }]]),
    );
    expect(listStaleFields(Object.keys(texts), ['own'])).to.deep.equal([]);
    expect(listStaleFields(Object.keys(texts), ['ow'])).to.deep.equal([secret, previous, previousUntil]);
  });
});
