/** A gateway's listener with only the readers of media requests behind it: an accepted request is answered as JSON. */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Koa from 'koa';
import type { GatewayConfig } from '../../../api/gateway-config.ts';
import { EgressAgent, type EgressAgentOptions } from '../../../gateway/egress/agent.ts';
import { answerErrors } from '../../../gateway/http/errors.ts';
import { type GatewayState, identifyRequest } from '../../../gateway/http/exchange.ts';
import { ROUTES } from '../../../gateway/http/routes.ts';
import { findRoute, requireAvailability } from '../../../gateway/http/routing.ts';
import { createListener, createServer } from '../../../gateway/http/server.ts';
import { type IdempotentRepeat, listFiles, type MediaRequest } from '../../../gateway/jobs/media-request.ts';
import type { MediaServices } from '../../../gateway/jobs/services.ts';
import { readImageEdit, readImageGeneration } from '../../../gateway/media/image-request.ts';
import { readVideo, readVideoGeneration } from '../../../gateway/media/video-routes.ts';
import { Spool } from '../../../gateway/storage/spool.ts';
import { createLog } from '../../../gateway/telemetry/log.ts';
import { createMetrics } from '../../../gateway/telemetry/metrics.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { PUBLIC_ONLY } from '../../support/public-egress.ts';

const READERS: Record<
  string,
  (state: GatewayState, services: MediaServices) => Promise<MediaRequest | IdempotentRepeat>
> = {
  image_generations: readImageGeneration,
  image_edits: readImageEdit,
  videos: readVideo,
  video_generations: readVideoGeneration,
};

export interface IntakeEndpoint {
  origin: string;
  port: number;
  config: GatewayConfig;
  spool: Spool;
  /** Files that lie in the spool's folder. */
  listSpooled(): string[];
  stop(): Promise<void>;
}

export async function startIntake(
  config: GatewayConfig,
  redis: RedisClient,
  egressOptions: EgressAgentOptions = PUBLIC_ONLY,
): Promise<IntakeEndpoint> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-intake-'));
  const spool = await Spool.open({ folder: join(folder, 'spool'), maxBytes: 1024 ** 3 });
  const egress = new EgressAgent(egressOptions);
  const services = {
    config: () => config,
    redis,
    egress,
    storage: { spool },
  } as unknown as MediaServices;
  const app = new Koa<GatewayState>();
  app.use(identifyRequest());
  app.use(answerErrors({ log: createLog('silent'), metrics: createMetrics(), findUsage: () => null }));
  app.use(findRoute(ROUTES, () => config));
  app.use(requireAvailability(ROUTES, () => config));
  app.use(async ({ state }) => {
    const request = await READERS[state.route.name]!(state as GatewayState, services);
    if (request.kind === 'repeat') throw new Error('nothing was submitted before');
    const files = listFiles(request);
    const text = JSON.stringify({ request, spooled: spool.used });
    for (const file of files) await file.remove();
    state.exchange.res
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      .end(text);
  });
  const server = createServer(createListener(app), () => config.limits);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    config,
    spool,
    listSpooled: () => readdirSync(join(folder, 'spool')),
    stop: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await egress.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
