import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { claimRequest } from '../../../redis/requests/request-calls.ts';
import { publishApiKey } from '../../support/publication.ts';
import { FILM, type FrontWorkspace, PICTURE, startFrontWorkspace } from './front-workspace.ts';

/** Not one of the four claims that are for all priorities (docs/requests.md, "Fair scheduling"). */
const forHighest = (count: number): string => `1${String(count).padStart(31, '0')}`;

function fillForm(fields: Record<string, string>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}

describe('queued requests of keys of different priorities', () => {
  let space: FrontWorkspace;

  before(async () => {
    space = await startFrontWorkspace();
    for (const [key, pri] of Object.entries({ 'sk-low': -5, 'sk-high': 5 }))
      await publishApiKey(space.connection.redis, 'team', hashApiKey(key), {
        ...{ n: key, rpm: 1000, tpd: 1000, exp: 0, off: 0, pri },
      });
    await space.publish('film', FILM);
    await space.publish('picture', PICTURE);
  });
  after(() => space?.stop());

  const submit = async (name: 'film' | 'picture', key: string): Promise<unknown> => {
    const path = name === 'film' ? '/videos' : '/images/generations?async=true';
    const fields = { model: name, prompt: 'x', ...(name === 'film' && { seconds: '1', size: '64x64' }) };
    const body = name === 'film' ? fillForm(fields) : fields;
    const { status, body: answer, text } = await space.call(name, path, { body, key });
    expect(status, text).to.equal(202);
    return answer.id;
  };

  for (const name of ['film', 'picture'] as const)
    it(`are handed to a worker by these, of equal ones in turn: ${name}`, async () => {
      const low = await submit(name, 'sk-low');
      const usual = [await submit(name, 'sk-team'), await submit(name, 'sk-team')];
      const high = [await submit(name, 'sk-high'), await submit(name, 'sk-high')];
      const handed: unknown[] = [];
      for (let count = 0; count < 5; count++) {
        const token = forHighest(count) + name;
        const claim = { namespace: 'team', deployment: name, token, pod: 'a' };
        handed.push((await claimRequest(space.connection.redis, claim))!.claim.id);
      }
      expect(handed).to.deep.equal([...high, ...usual, low]);
    });
});
