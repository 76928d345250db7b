import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { GatewayConfig } from '../../../api/gateway-config.ts';
import { ADMIN_PATHS, DRAIN_TOKEN_HEADER } from '../../../api/gateway-environment.ts';
import { publishDeployment } from '../../../redis/publication/publication.ts';
import { callChat, readError } from '../../support/chat.ts';
import { findFreePort } from '../../support/child-program.ts';
import { readHeartbeats } from '../../support/heartbeats.ts';
import { API_KEY, DRAIN_TOKEN, describeModel, startEngine } from '../../support/model-replica.ts';
import { pollUntil } from '../../support/poll.ts';
import { useReplicas } from '../../support/replica-stack.ts';

const ADDRESSES = ['127.0.61.1', '127.0.61.2'];
const BASE = describeModel();

describe('A LoRA adapter beside its base', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-adapters-'));
  const ports = new Map<string, number>();
  let adapterPort: number;
  before(async () => {
    adapterPort = await findFreePort(ADDRESSES);
    for (const address of ADDRESSES) ports.set(address, await findFreePort([address]));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const startAt = (address: string) =>
    startEngine({
      SIMULATOR_HOST: address,
      SIMULATOR_PORT: String(ports.get(address)),
      SIMULATOR_ADAPTERS: '1',
    });
  const stack = useReplicas(BASE, ADDRESSES, { startEngine: startAt });

  const write = (entry: string) => {
    mkdirSync(join(folder, entry), { recursive: true });
    writeFileSync(join(folder, entry, 'adapter_config.json'), '{"r":16}');
  };
  /** As the operator does: `entry` is the folder of its files, and a part of the engine's name. */
  const publish = async (entry: string) => {
    const adapter: GatewayConfig = {
      ...describeModel({ model: { id: 'acme/sql', source: { none: {} } } }, { name: 'sql' }),
      servedModelName: `sql-${entry}`,
      adapter: { base: 'chat', port: adapterPort, path: join(folder, entry) },
    };
    await publishDeployment(stack.redis, { ...BASE, adapters: [adapter] });
  };
  const urlOf = (index: number) => `http://${ADDRESSES[index]}:${adapterPort}/v1`;
  const beats = () => readHeartbeats(stack.redis, BASE.namespace, 'sql');
  const untilLoaded = (entry: string) =>
    pollUntil(async () => {
      const all = await beats();
      return all.length === ADDRESSES.length && all.every(({ adapter }) => adapter === `sql-${entry}`);
    }, `${entry} loaded`);
  const beatOf = async (index: number) =>
    (await beats()).find(({ pod }) => pod === `pod-${ADDRESSES[index]}`);
  const listModels = async (url: string) => {
    const response = await fetch(`${url}/models`, { headers: { authorization: `Bearer ${API_KEY}` } });
    return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  const lastModel = async (index: number) =>
    ((await stack.engines[index]!.read()).last?.body as { model?: string } | undefined)?.model;

  it('gets 503 until an engine has loaded it, says why in the words of the engine, and is never answered by the base', async () => {
    await publish('absent');
    await pollUntil(
      async () => (await beats()).length === 2 && (await beats()).every((beat) => beat.adapterError),
      'words',
    );
    const before = await stack.countRequests();
    const response = await callChat(urlOf(0));
    expect(response.status).to.equal(503);
    expect(await readError(response)).to.deep.include({ code: 'no_pod_available' });
    expect(await stack.countRequests()).to.deep.equal(before);
    expect((await beats())[0]!.adapterError).to.match(
      /^Loading lora sql-absent failed: No adapter found for /,
    );
  });

  it('has an endpoint with its own model, which the engine is asked for by the name of its files', async () => {
    write('one');
    await publish('one');
    await untilLoaded('one');
    expect(await listModels(urlOf(0))).to.deep.equal(['acme/sql']);
    expect(await listModels(stack.replicas[0]!.url)).to.deep.equal(['berth/chat']);
    const answer = (await (await callChat(urlOf(0))).json()) as { model: string };
    expect(answer.model).to.equal('acme/sql');
    expect(await lastModel(0)).to.equal('sql-one');
    const refused = await callChat(urlOf(0), { body: { model: 'berth/chat' } });
    expect(refused.status).to.equal(400);
    await callChat(stack.replicas[0]!.url);
    expect(await lastModel(0)).to.equal('berth/chat');
  });

  it('is loaded again by an engine that was killed; meanwhile a peer serves it', async () => {
    write('two');
    await publish('two');
    await untilLoaded('two');
    await stack.engines[0]!.stop('SIGKILL');
    await pollUntil(async () => (await beats()).filter(({ ready }) => ready).length === 1, 'lost');
    const before = (await stack.engines[1]!.read()).requests;
    for (let sent = 0; sent < 5; sent++) expect((await callChat(urlOf(0))).status).to.equal(200);
    expect((await stack.engines[1]!.read()).requests).to.equal(before + 5);
    expect(await lastModel(1)).to.equal('sql-two');
    stack.engines[0] = await startAt(ADDRESSES[0]!);
    // A pod that is ready gets requests, and lets a roll go on.
    await pollUntil(async () => (await stack.replicas[0]!.admin(ADMIN_PATHS.readyz)).ok, 'a ready pod');
    expect(await listModels(`${stack.engines[0]!.url}/v1`)).to.include('sql-two');
    await untilLoaded('two');
    expect((await callChat(urlOf(0))).status).to.equal(200);
    expect(await lastModel(0)).to.equal('sql-two');
  });

  it('is answered all the time while its source changes, by the new one as soon as that is loaded', async () => {
    write('three');
    await publish('three');
    await untilLoaded('three');
    const statuses = new Set<number>();
    let isOver = false;
    const asking = (async () => {
      while (!isOver) for (const index of [0, 1]) statuses.add((await callChat(urlOf(index))).status);
    })();
    await publish('four');
    await pollUntil(
      async () => (await beats()).every(({ adapterError }) => adapterError?.includes('sql-four')),
      'refused: its files are missing',
    );
    expect(await lastModel(0)).to.equal('sql-three');
    write('five');
    await publish('five');
    await pollUntil(async () => (await beats()).every(({ adapter }) => adapter === 'sql-five'), 'loaded');
    isOver = true;
    await asking;
    expect([...statuses]).to.deep.equal([200]);
    await callChat(urlOf(0));
    expect(await lastModel(0)).to.equal('sql-five');
  });

  it('is answered by a peer where the engine was killed during a change of source, and where the new one is refused', async () => {
    write('eight');
    await publish('eight');
    await untilLoaded('eight');
    await stack.engines[0]!.stop('SIGKILL');
    await pollUntil(async () => (await beatOf(0))?.ready === false, 'lost');
    write('nine');
    await publish('nine');
    await pollUntil(async () => (await beatOf(1))?.adapter === 'sql-nine', 'loaded by the peer');
    const statuses = new Set<number>();
    const ask = async () => statuses.add((await callChat(urlOf(0))).status);
    const isAnsweredByPeer = async () => (await ask()) && (await lastModel(1)) === 'sql-nine';
    // Until it knows better, the peer is asked for what it had, and still has.
    await pollUntil(isAnsweredByPeer, 'answered by the peer');
    await publish('missing');
    await pollUntil(async () => (await beatOf(1))?.adapterError !== undefined, 'refused by the peer');
    stack.engines[0] = await startAt(ADDRESSES[0]!);
    await pollUntil(async () => (await beatOf(0))?.adapterError !== undefined, 'refused here');
    for (let sent = 0; sent < 5; sent++) await ask();
    expect(await lastModel(1)).to.equal('sql-nine');
    expect([...statuses]).to.deep.equal([200]);
  });

  it('is answered elsewhere where the engine lost it, and loaded there again', async () => {
    write('six');
    await publish('six');
    await untilLoaded('six');
    // Replicas know of each other's.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await fetch(`${stack.engines[0]!.url}/v1/unload_lora_adapter`, {
      method: 'POST',
      body: JSON.stringify({ lora_name: 'sql-six' }),
    });
    expect((await callChat(urlOf(0))).status).to.equal(200);
    expect(await lastModel(1)).to.equal('sql-six');
    await pollUntil(
      async () => (await listModels(`${stack.engines[0]!.url}/v1`)).includes('sql-six'),
      'loaded again',
    );
  });

  it('is gone with its port once the base no longer lists it, and cuts no stream, not even while the pod drains', async () => {
    write('seven');
    await publish('seven');
    await untilLoaded('seven');
    await stack.control({ ttftMs: 0, itlMs: 100, tokens: 20 });
    const [base, own] = await Promise.all([
      callChat(stack.replicas[0]!.url, { body: { stream: true } }),
      callChat(urlOf(0), { body: { stream: true } }),
    ]);
    // Answered at its end, which the test does not wait for.
    const headers = { [DRAIN_TOKEN_HEADER]: DRAIN_TOKEN };
    void stack.replicas[0]!.admin(ADMIN_PATHS.drain, { headers }).catch(() => {});
    await publishDeployment(stack.redis, BASE);
    for (const response of [base, own])
      expect(await response.text())
        .to.include('[DONE]')
        .and.not.include('error');
    await pollUntil(async () => (await beats()).length === 0, 'no replica of it');
    await pollUntil(
      () =>
        callChat(urlOf(0)).then(
          () => false,
          () => true,
        ),
      'a closed port',
    );
    expect((await callChat(stack.replicas[1]!.url)).status).to.equal(200);
  });
});
