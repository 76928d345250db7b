/** Tokens of sessions by OIDC: when and by which console they are renewed, and what happens if that fails. */
import { expect } from 'chai';
import { pino } from 'pino';
import { consoleKeys } from '../../../api/redis-keys.ts';
import type { Tokens } from '../../../console/server/oidc/issuer.ts';
import { IssuerError } from '../../../console/server/oidc/issuer-error.ts';
import { RedisPresence } from '../../../console/server/sessions/redis-presence.ts';
import type { Session } from '../../../console/server/sessions/session.ts';
import { Sessions } from '../../../console/server/sessions/sessions.ts';
import { describeTokens, TokenRenewal } from '../../../console/server/sessions/token-renewal.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { rejection } from '../../support/redis-client.ts';
import { makeRedis } from './console-redis.ts';

const LIFE_MS = 600_000;
const MARGIN_MS = 120_000;

describe('the token of a session by OIDC', () => {
  let clock: FakeClock;
  let redis: ReturnType<typeof makeRedis>;
  let used: string[];
  let revoked: string[];
  let answer: (refreshToken: string) => Promise<Tokens>;

  const now = () => clock.date().getTime();
  const give = (count: number): Tokens => ({
    idToken: `id-${count}`,
    refreshToken: `refresh-${count}`,
    subject: 'ada',
    endsAt: now() + LIFE_MS,
  });
  const issuer = {
    provider: 'Example ID',
    renew: ({ refreshToken }: { refreshToken: string; subject: string }) => {
      used.push(refreshToken);
      return answer(refreshToken);
    },
    revoke: async (token: string) => void revoked.push(token),
  };
  const openConsole = () => {
    const client = redis as unknown as RedisClient;
    const renewal = new TokenRenewal({ redis: client, issuer, log: pino({ level: 'silent' }), clock });
    return new Sessions(client, new RedisPresence(now), { clock: now, renewal });
  };
  const begin = (sessions: Sessions, tokens = give(0)) => {
    const { idToken: token } = tokens;
    const oidc = describeTokens(tokens, now());
    return sessions.begin({ token, oidc, user: 'ada', own: [] }, null);
  };
  const away = () => Promise.reject(new IssuerError('away', 'no answer'));

  beforeEach(() => {
    clock = new FakeClock();
    redis = makeRedis();
    used = [];
    revoked = [];
    answer = async () => give(used.length);
  });

  it('is used as it is until its end comes near, and renewed once then', async () => {
    const sessions = openConsole();
    const { id } = await begin(sessions);
    await clock.advance(LIFE_MS - MARGIN_MS - 1);
    expect((await sessions.find(id))!.token).to.equal('id-0');
    expect(used).to.deep.equal([]);
    await clock.advance(1);
    const found = await Promise.all([1, 2, 3].map(() => sessions.find(id)));
    expect(found.map((session) => session!.token)).to.deep.equal(['id-1', 'id-1', 'id-1']);
    expect(used).to.deep.equal(['refresh-0']);
    await clock.advance(LIFE_MS - MARGIN_MS);
    expect((await sessions.find(id))!.token).to.equal('id-2');
    expect(used).to.deep.equal(['refresh-0', 'refresh-1']);
  });

  it('is renewed in its last third where it lives for minutes only', () => {
    expect(describeTokens({ ...give(0), endsAt: now() + 60_000 }, now()).renewAt - now()).to.equal(40_000);
  });

  it('is renewed by one of two consoles, while the other uses what there is', async () => {
    const [here, there] = [openConsole(), openConsole()];
    const { id } = await begin(here);
    await clock.advance(LIFE_MS - MARGIN_MS);
    const granted = Promise.withResolvers<Tokens>();
    answer = () => granted.promise;
    const first = here.find(id);
    await settle();
    expect((await there.find(id))!.token).to.equal('id-0');
    granted.resolve(give(1));
    expect((await first)!.token).to.equal('id-1');
    expect((await there.find(id))!.token).to.equal('id-1');
    expect(used).to.deep.equal(['refresh-0']);
  });

  it('is awaited where it has ended while another console renews it', async () => {
    const [here, there] = [openConsole(), openConsole()];
    const { id } = await begin(here);
    await clock.advance(LIFE_MS);
    const granted = Promise.withResolvers<Tokens>();
    answer = () => granted.promise;
    const first = here.find(id);
    await settle();
    const second = there.find(id);
    await clock.advance(400);
    granted.resolve(give(1));
    await first;
    await clock.advance(400);
    expect((await second)!.token).to.equal('id-1');
    expect(used).to.have.length(1);
  });

  it('changes in place for streams that hold the session, at either console', async () => {
    const [here, there] = [openConsole(), openConsole()];
    const { id } = await begin(here);
    const streaming = [await here.find(id), await there.find(id)] as Session[];
    await clock.advance(LIFE_MS - MARGIN_MS);
    expect(await there.isOpen(streaming[1]!)).to.equal(true);
    expect(await here.isOpen(streaming[0]!)).to.equal(true);
    expect(streaming.map(({ token }) => token)).to.deep.equal(['id-1', 'id-1']);
    expect(used).to.have.length(1);
  });

  for (const kind of ['rejected', 'denied'] as const)
    it(`ends the session and its streams where the issuer renews it no more: ${kind}`, async () => {
      const sessions = openConsole();
      const { id } = await begin(sessions);
      const session = (await sessions.find(id))!;
      let isTold = false;
      const leave = sessions.onEnd(session, () => {
        isTold = true;
      });
      answer = () => Promise.reject(new IssuerError(kind, 'invalid_grant'));
      await clock.advance(LIFE_MS - MARGIN_MS);
      expect(await sessions.find(id)).to.equal(null);
      expect([isTold, await sessions.isOpen(session)]).to.deep.equal([true, false]);
      leave();
    });

  it('is used to its end while the issuer is away, which is asked every 5 s only', async () => {
    const sessions = openConsole();
    const { id } = await begin(sessions);
    answer = away;
    await clock.advance(LIFE_MS - MARGIN_MS);
    for (let count = 0; count < 20; count++) expect((await sessions.find(id))!.token).to.equal('id-0');
    expect(used).to.have.length(1);
    await clock.advance(5_000);
    await sessions.find(id);
    expect(used).to.have.length(2);
  });

  it('keeps the session for a minute beyond it while the issuer is away, then asks for a token', async () => {
    const sessions = openConsole();
    const { id } = await begin(sessions);
    answer = away;
    await clock.advance(LIFE_MS);
    const error = await rejection(sessions.find(id));
    expect(error).to.include({ code: 'temporarily_unavailable', retryAfter: 5 });
    expect((error as Error).message).to.equal(
      'Example ID is unreachable, so your session could not be renewed. Retrying…',
    );
    await clock.advance(60_001);
    expect(await rejection(sessions.find(id))).to.have.property('code', 'not_signed_in');
    answer = async () => give(9);
    await clock.advance(5_000);
    expect((await sessions.find(id))!.token).to.equal('id-9');
  });

  it('is given back where somebody signs out while it is renewed', async () => {
    const sessions = openConsole();
    const { id, session } = await begin(sessions);
    await clock.advance(LIFE_MS - MARGIN_MS);
    const granted = Promise.withResolvers<Tokens>();
    answer = () => granted.promise;
    const finding = sessions.find(id);
    await settle();
    await sessions.end(session);
    granted.resolve(give(1));
    expect(await finding).to.equal(null);
    expect(revoked).to.deep.equal(['refresh-1']);
    expect(redis.held.has(consoleKeys.session(session.digest))).to.equal(false);
  });

  it('is not lost where Redis goes away for a moment while it is renewed', async () => {
    const sessions = openConsole();
    const { id } = await begin(sessions);
    await clock.advance(LIFE_MS - MARGIN_MS);
    answer = async () => {
      redis.isAway = true;
      return give(1);
    };
    const finding = sessions.find(id);
    await clock.advance(1_000);
    redis.isAway = false;
    await clock.advance(2_000);
    expect((await finding)!.token).to.equal('id-1');
    expect((await sessions.find(id))!.token).to.equal('id-1');
    expect(used).to.deep.equal(['refresh-0']);
  });

  it('is renewed again after a console died while it renewed', async () => {
    const sessions = openConsole();
    const { id, session } = await begin(sessions);
    redis.held.set(consoleKeys.renewal(session.digest), '1');
    await clock.advance(LIFE_MS - MARGIN_MS);
    expect((await sessions.find(id))!.token).to.equal('id-0');
    redis.held.delete(consoleKeys.renewal(session.digest));
    expect((await sessions.find(id))!.token).to.equal('id-1');
  });

  it('asks to wait rather than to sign in where Redis is away beyond its end', async () => {
    const sessions = openConsole();
    const { id } = await begin(sessions);
    await clock.advance(LIFE_MS - MARGIN_MS - 1);
    await sessions.find(id);
    redis.isAway = true;
    expect((await sessions.find(id))!.token).to.equal('id-0');
    await clock.advance(MARGIN_MS + 1);
    expect(await rejection(sessions.find(id))).to.have.property('code', 'temporarily_unavailable');
  });
});
