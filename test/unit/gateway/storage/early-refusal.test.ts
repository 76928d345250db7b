import type { Server } from 'node:http';
import { expect } from 'chai';
import { storageToken } from '../../../../api/identity.ts';
import { INTERNAL_PATHS, WORKSPACE_HEADER } from '../../../../api/internal-api.ts';
import {
  createInternalServer,
  type InternalServiceOptions,
} from '../../../../gateway/storage/service/service.ts';
import { listen } from '../../../../kit/http-server.ts';

const MASTER_KEY = 'master';
const BODY = 'x'.repeat(8 * 1024 * 1024);

describe('the internal service of a front', () => {
  let server: Server;
  let origin: string;
  before(async () => {
    server = createInternalServer({ masterKey: MASTER_KEY, urlSigner: {} } as InternalServiceOptions);
    origin = `http://127.0.0.1:${await listen(server, 0, '127.0.0.1')}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const ask = async (headers: Record<string, string>) => {
    const answer = await fetch(origin + INTERNAL_PATHS.signPuts, { method: 'POST', body: BODY, headers });
    return [answer.status, ((await answer.json()) as { error: { code: string } }).error.code];
  };

  it('answers 413 to a body that is too long, and 401 before a body has come', async () => {
    const token = { authorization: `Bearer ${storageToken(MASTER_KEY, 'team')}`, [WORKSPACE_HEADER]: 'team' };
    for (let count = 0; count < 3; count++) {
      expect(await ask(token)).to.deep.equal([413, 'request_too_large']);
      expect(await ask({})).to.deep.equal([401, 'invalid_api_key']);
    }
  });
});
