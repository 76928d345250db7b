import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { expect } from 'chai';
import { EgressAgent } from '../../../gateway/egress/agent.ts';
import { lookUpModel } from '../../../gateway/hub/model-lookup.ts';
import { closeServer, listen, readServerPort } from '../../../kit/http-server.ts';
import { LLAMA_8B } from '../../unit/operator/fit/model-configs.ts';

type Answer = (req: IncomingMessage, res: ServerResponse) => void;

describe('the look-up of a model', () => {
  const files = new Map<string, Answer>();
  const asked: IncomingMessage[] = [];
  let server: Server;
  let hub: string;
  let egress: EgressAgent;
  before(async () => {
    server = createServer((req, res) => {
      asked.push(req);
      const answer = files.get(req.url!);
      if (answer) answer(req, res);
      else res.writeHead(404).end();
    });
    await listen(server, 0, '127.0.0.1');
    hub = `http://127.0.0.1:${readServerPort(server)}`;
    egress = new EgressAgent({ allow: ['127.0.0.0/8'], deny: [], plainHTTP: true });
  });
  beforeEach(() => {
    files.clear();
    asked.length = 0;
  });
  after(async () => {
    await egress.close();
    await closeServer(server, 100);
  });

  const PLACE = '/org/model/resolve/main';
  const send =
    (body: string | Buffer): Answer =>
    (_, res) =>
      void res.end(body);
  const sendConfig = send(JSON.stringify(LLAMA_8B));
  const ask = (more: object = {}) =>
    lookUpModel(egress, { hub, repo: 'org/model', revision: 'main', ...more });

  it('reads the shape by config.json, and the weights by the beginning of their index, anonymously', async () => {
    files.set(`${PLACE}/config.json`, (_, res) => {
      res.writeHead(307, { location: '/api/cached/config.json' }).end();
    });
    files.set('/api/cached/config.json', sendConfig);
    files.set(`${PLACE}/model.safetensors.index.json`, (req, res) => {
      expect(req.headers.range).to.equal('bytes=0-262143');
      const index = `{"metadata": {"total_size": 16060522496}, "weight_map": {"a": "${'a'.repeat(4 << 20)}`;
      res.writeHead(206).end(index.slice(0, 262_144));
    });
    const answer = await ask();
    expect(answer).to.deep.include({ found: true, weightBytes: 16_060_522_496 });
    expect(answer).to.have.nested.property('shape.fullLayers', 32);
    for (const { headers } of asked) expect(headers).not.to.have.property('authorization');
  });

  it('reads the size of a single file without reading the file', async () => {
    files.set(`${PLACE}/config.json`, sendConfig);
    files.set(`${PLACE}/model.safetensors`, (_, res) => {
      res.writeHead(206, { 'content-range': 'bytes 0-0/988097824' }).end('x');
    });
    expect(await ask()).to.include({ found: true, weightBytes: 988_097_824 });
    files.set(`${PLACE}/model.safetensors`, (_, res) => {
      res.writeHead(200, { 'content-length': '3087467144' }).write('x');
    });
    expect(await ask()).to.include({ weightBytes: 3_087_467_144 });
  });

  it('names the revision in one part of the path', async () => {
    files.set('/org/model/resolve/refs%2Fpr%2F1/config.json', sendConfig);
    expect(await ask({ revision: 'refs/pr/1' })).to.include({ found: true, weightBytes: null });
  });

  const faults: [string, Answer, RegExp, boolean][] = [
    ['a gated repository', (_, res) => void res.writeHead(401).end(), /gated or private/, true],
    ['one without a config', (_, res) => void res.writeHead(404).end(), /has no config\.json/, true],
    ['a hub that is down', (_, res) => void res.writeHead(503).end(), /the hub returned 503/, false],
    ['a hub that hangs up', (_, res) => void res.destroy(), /closed the connection/, false],
    ['a config of megabytes', send(`{"a": "${'a'.repeat(2 << 20)}"}`), /more than 1 MiB/, true],
    [
      'a redirect inside',
      (_, res) => void res.writeHead(302, { location: 'http://10.0.0.1/' }).end(),
      /begin with https|public address/,
      false,
    ],
  ];
  for (const [what, answer, words, isFinal] of faults)
    it(`says why nothing is known of ${what}`, async () => {
      files.set(`${PLACE}/config.json`, answer);
      const said = await ask();
      expect(said).to.include({ found: false, isFinal });
      expect(said).to.have.property('message').that.matches(words);
    });

  for (const name of ['model.safetensors.index.json', 'model.safetensors'])
    it(`is not at its end while the hub does not say how large ${name} is`, async () => {
      files.set(`${PLACE}/config.json`, sendConfig);
      files.set(`${PLACE}/${name}`, (_, res) => void res.writeHead(429).end());
      expect(await ask()).to.deep.equal({
        found: false,
        isFinal: false,
        message: 'could not be read: the hub returned 429',
      });
    });

  for (const [what, text] of [
    ['is no JSON', '<html>'],
    ['is nested without end', '['.repeat(100_000)],
    ['costs too much to parse', `[${'{},'.repeat(300_000)}{}]`],
    ['is of no transformer', '{"model_type": "mamba"}'],
  ])
    it(`has no shape by a config that ${what}`, async () => {
      files.set(`${PLACE}/config.json`, send(text!));
      expect(await ask()).to.deep.equal({ found: true, shape: null, weightBytes: null });
    });
});
