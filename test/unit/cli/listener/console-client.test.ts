import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect } from 'chai';
import { ConsoleClient, type ConsoleRefusal } from '../../../../cli/listener/console-client.ts';
import { closeServer, listen } from '../../../../kit/http-server.ts';

describe('the client of the console of berth listen', () => {
  let server: Server;
  let url: string;
  let answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;
  let tokens: string[];
  let client: ConsoleClient;

  beforeEach(async () => {
    server = createServer((request, response) => void answer(request, response));
    url = `http://127.0.0.1:${await listen(server, 0, '127.0.0.1')}`;
    tokens = ['first', 'second'];
    const { signal } = new AbortController();
    client = new ConsoleClient({ url, readToken: () => tokens.shift()!, namespace: 'team', signal });
  });
  afterEach(() => closeServer(server, 0));

  const refusalOf = (call: Promise<unknown>): Promise<ConsoleRefusal> =>
    call.then(
      () => expect.fail('was not refused'),
      (error) => error,
    );

  it('signs in again with the present token when the session has ended', async () => {
    const signIns: unknown[] = [];
    answer = async (request, response) => {
      const { origin, cookie } = request.headers;
      if (request.method === 'POST') {
        const body = await json(request);
        signIns.push({ body, isOwnOrigin: origin === url });
        response
          .setHeader('set-cookie', `berth=${signIns.length}; Path=/; HttpOnly`)
          .end('{"namespaces":[]}');
      } else response.writeHead(cookie === 'berth=2' ? 200 : 401).end('{}');
    };
    await client.signIn();
    expect(await client.get('/api/anything')).to.deep.equal({});
    expect(signIns).to.deep.equal([
      { body: { token: 'first', namespace: 'team' }, isOwnOrigin: true },
      { body: { token: 'second', namespace: 'team' }, isOwnOrigin: true },
    ]);
  });

  it('repeats the words of a refusal', async () => {
    answer = (_, response) => {
      response.writeHead(401).end('{"error":{"message":"Token not recognized."}}');
    };
    const { message, isPassing } = await refusalOf(client.signIn());
    expect({ message, isPassing }).to.deep.equal({ message: 'Token not recognized.', isPassing: false });
  });

  it('takes no other server for the console, and follows it nowhere', async () => {
    const paths: string[] = [];
    answer = (request, response) => {
      paths.push(request.url!);
      response.writeHead(307, { location: `${url}/elsewhere` }).end('<html>');
    };
    expect((await refusalOf(client.signIn())).message).to.include('no JSON; check the console URL');
    expect(paths).to.deep.equal(['/api/session']);
  });

  it('tells what may succeed later', async () => {
    answer = (_, response) => {
      response.writeHead(503).end('upstream unavailable');
    };
    expect((await refusalOf(client.get('/api/anything'))).isPassing).to.equal(true);
  });
});
