/**
 * Measures what a request takes longer that the replica where it arrives hands to its peer, since its prompt leads there, and what a prompt of
 * 1 MiB takes longer than at the engine. Part of `make bench` (ONLY=forwarding).
 */
import { GATEWAY_ENV } from '../../api/gateway-environment.ts';
import type { RedisClient } from '../../redis/client.ts';
import { pollUntil } from '../support/poll.ts';
import { timeInTurns, timeRequest } from './one-by-one.ts';
import { SYSTEM_CORE, startPinned, stopPinned, waitForPort } from './pinned-process.ts';
import { atMost, formatRows, type Goal } from './report.ts';
import { startEngine } from './started-system.ts';
import { benchConfig, buildSidecar, ENGINE_URL, MODEL, PORTS, publishBench } from './systems.ts';

export interface ForwardingFigures {
  /** Medians, one request at a time. */
  localMs: number;
  forwardedMs: number;
  visionDirectMs: number;
  visionMs: number;
}

const PATH = '/v1/chat/completions';
const WARMING = 3_000;
const ROUNDS = 1_000;
const VISION_ROUNDS = 60;
const VISION_BYTES = 1024 ** 2;

const buildChat = (content: unknown): string =>
  JSON.stringify({ model: MODEL, messages: [{ role: 'user', content }] });

/** Long enough to be routed by its prefix. */
const PROMPT = buildChat(`bench-plain ${'hello '.repeat(150)}`);
const VISION = buildChat([
  { type: 'text', text: 'bench-plain' },
  { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(VISION_BYTES)}` } },
]);

export async function measureForwarding(redis: RedisClient): Promise<ForwardingFigures> {
  await publishBench(redis);
  const engine = await startEngine();
  const config = { ...benchConfig(), balance: 'Prefix' as const };
  const ports = [PORTS.berth, PORTS.peer];
  const replicas = [
    buildSidecar(config, ENGINE_URL),
    buildSidecar(config, ENGINE_URL, {
      env: {
        [GATEWAY_ENV.podName]: 'bench-1',
        [GATEWAY_ENV.httpPort]: String(PORTS.peer),
        [GATEWAY_ENV.adminPort]: String(PORTS.peerAdmin),
        [GATEWAY_ENV.metricsPort]: String(PORTS.peerMetrics),
      },
    }),
  ].map((command) => startPinned(SYSTEM_CORE, command, '/dev/null'));
  try {
    for (const port of ports) await waitForPort(port);
    const ask = (port: number, body = PROMPT) => ({ port, path: PATH, body });
    // Until both know each other, and one of them forwards the prompt.
    await pollUntil(async () => {
      for (const port of ports) await timeRequest(ask(port)).catch(() => null);
      return (await countForwarded()) > 0;
    }, 'a forwarded request');
    await timeInTurns(
      ports.map((port) => ask(port)),
      WARMING,
    );
    const before = await countForwarded();
    // Both route the prompt to the same replica, which is one of the two.
    const [first, second] = await timeInTurns(
      ports.map((port) => ask(port)),
      ROUNDS,
    );
    const forwarded = (await countForwarded()) - before;
    if (forwarded < 0.95 * ROUNDS) throw new Error(`only ${forwarded} of ${ROUNDS} requests were forwarded`);
    await timeInTurns([ask(PORTS.berth, VISION)], VISION_ROUNDS);
    const [visionDirectMs, viaFirst, viaSecond] = await timeInTurns(
      [PORTS.engine, ...ports].map((port) => ask(port, VISION)),
      VISION_ROUNDS,
    );
    return {
      localMs: Math.min(first!, second!),
      forwardedMs: Math.max(first!, second!),
      visionDirectMs: visionDirectMs!,
      // The other one may have forwarded it.
      visionMs: Math.min(viaFirst!, viaSecond!),
    };
  } finally {
    for (const replica of replicas) await stopPinned(replica);
    await stopPinned(engine);
  }
}

async function countForwarded(): Promise<number> {
  let sum = 0;
  for (const port of [PORTS.berthMetrics, PORTS.peerMetrics]) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    sum += Number(/^berth_gateway_forwarded_requests_total\S* (\d+)/m.exec(text)?.[1] ?? 0);
  }
  return sum;
}

export const formatForwarding = (figures: ForwardingFigures): string =>
  formatRows([
    ['one request at a time, p50', 'ms'],
    ['at the replica that its prompt leads to', figures.localMs.toFixed(2)],
    ['at another, which forwards it', figures.forwardedMs.toFixed(2)],
    ['a prompt with 1 MiB of image, at the engine', figures.visionDirectMs.toFixed(2)],
    ['the same through Berth', figures.visionMs.toFixed(2)],
  ]);

export const listForwardingGoals = (figures: ForwardingFigures): Goal[] => [
  atMost('forwarded to a peer: added p50, ms', figures.forwardedMs - figures.localMs, 0.3),
  atMost('prompt with 1 MiB of image: added p50, ms', figures.visionMs - figures.visionDirectMs, 3),
];
