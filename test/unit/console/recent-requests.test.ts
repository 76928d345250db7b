import { expect } from 'chai';
import type { RecentRequestView } from '../../../console/api.ts';
import { addRecentRequestRoutes } from '../../../console/server/routes/recent-requests.ts';
import type { ServeRoute } from '../../../console/server/routes/served-route.ts';
import type { Services } from '../../../console/server/routes/services.ts';

const SECOND = 1_000;
const START = Date.now() - 1_800_000;
const timeOf = (second: number): string => new Date(START + second * SECOND).toISOString();

/** A line for each request, as Redis keeps it: from one second to another. */
const lines = [
  { id: 'before', from: 0, to: 50 },
  { id: 'into', from: 10, to: 70 },
  { id: 'throughout', from: 20, to: 200 },
  { id: 'within', from: 80, to: 90 },
  { id: 'after', from: 120, to: 130 },
]
  .sort((a, b) => a.to - b.to)
  .map(({ id, from, to }) => {
    const [durationMs, endedAt] = [(to - from) * SECOND, START + to * SECOND];
    return JSON.stringify([id, 'chat_completions', 200, null, durationMs, 0, null, 1, 1, 'app', endedAt]);
  });

/** IDs of the requests that the console lists for a query. */
async function list(query: Record<string, string>): Promise<string[]> {
  let answer: ((call: object) => Promise<unknown>) | undefined;
  const serve = (_route: unknown, handler: unknown) => {
    answer = handler as typeof answer;
  };
  addRecentRequestRoutes(
    serve as ServeRoute,
    {
      access: { require: async () => {} },
      redis: { fcall: async () => lines },
      largeAnswers: { answer: (_res: unknown, _namespace: string, make: () => unknown) => make() },
    } as unknown as Services,
  );
  const call = { ctx: { query: { deployment: 'chat', ...query } }, session: {}, namespace: 'team' };
  return ((await answer!(call)) as RecentRequestView[]).map(({ id }) => id);
}

describe('the list of the latest requests', () => {
  it('has all of them, newest first', async () => {
    expect(await list({})).to.deep.equal(['throughout', 'after', 'within', 'into', 'before']);
    expect(await list({ within: '', since: '', until: '' })).to.have.length(5);
  });

  it('has those that were in progress within a time', async () => {
    const minute = { since: timeOf(60), until: timeOf(120) };
    expect(await list(minute)).to.deep.equal(['throughout', 'within', 'into']);
  });

  it('has those that ended since a time, or began before one', async () => {
    expect(await list({ since: timeOf(100) })).to.deep.equal(['throughout', 'after']);
    expect(await list({ until: timeOf(15) })).to.deep.equal(['into', 'before']);
    expect(await list({ within: '1h' })).to.have.length(5);
  });
});
