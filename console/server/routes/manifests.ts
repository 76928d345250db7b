/** Manifests of deployments: created, viewed and edited as the user, with a dry run first. */
import { createHash } from 'node:crypto';
import type Router from '@koa/router';
import { modelDeploymentResource } from '../../../api/model-deployment.ts';
import type { ManifestResult, ManifestView } from '../../api.ts';
import { manifestBody, readBody } from '../http/bodies.ts';
import { ConsoleError } from '../http/error.ts';
import type { Written } from '../kubernetes/client.ts';
import { KubernetesError } from '../kubernetes/error.ts';
import type { KubeObject } from '../kubernetes/object.ts';
import { type ApiContext, type ConsoleState, sessionOf } from '../sessions/request-guards.ts';
import { mergeManifest, readManifest, showManifest } from '../views/manifest.ts';
import type { Services } from './services.ts';

const { plural } = modelDeploymentResource;
/** The operator writes the status in between. */
const MAX_ATTEMPTS = 5;

export function addManifestRoutes(router: Router<ConsoleState>, { kubernetes }: Services): void {
  const create = async (ctx: ApiContext, { dryRun }: { dryRun: boolean }) => {
    const { namespace = '' } = ctx.params;
    const { manifest } = await readBody(ctx.req, manifestBody);
    const object = readManifest(manifest, { namespace });
    ctx.body = describeWritten(
      await kubernetes.write(sessionOf(ctx), { plural, namespace }, object, { dryRun }),
    );
    ctx.status = dryRun ? 200 : 201;
  };
  const replace = async (ctx: ApiContext, { dryRun }: { dryRun: boolean }) => {
    const { namespace = '', name = '' } = ctx.params;
    const session = sessionOf(ctx);
    const { manifest, version } = await readBody(ctx.req, manifestBody);
    const edited = readManifest(manifest, { namespace, name });
    const place = { plural, namespace };
    for (let attempt = 1; ; attempt++) {
      const stored = await kubernetes.get(session.token, place, name);
      if (version !== undefined && version !== versionOf(stored))
        throw new ConsoleError('conflict', `${name} was changed meanwhile. Reload it, then edit it again.`);
      try {
        const written = await kubernetes.write(session, place, mergeManifest(stored, edited), { dryRun });
        ctx.body = describeWritten(written);
        return;
      } catch (error) {
        const isConflict = error instanceof KubernetesError && error.status === 409;
        if (!isConflict || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  };
  router.post('/deployments', (ctx) => create(ctx, { dryRun: false }));
  router.post('/deployments/dry-run', (ctx) => create(ctx, { dryRun: true }));
  router.put('/deployments/:name', (ctx) => replace(ctx, { dryRun: false }));
  router.post('/deployments/:name/dry-run', (ctx) => replace(ctx, { dryRun: true }));

  router.get('/deployments/:name/manifest', async (ctx) => {
    const { namespace = '', name = '' } = ctx.params;
    const object = await kubernetes.get(sessionOf(ctx).token, { plural, namespace }, name);
    ctx.body = { manifest: showManifest(object), version: versionOf(object) } satisfies ManifestView;
  });
}

/** Version of the editable part: the resource version also changes with each status. */
const versionOf = (object: KubeObject): string =>
  createHash('sha256')
    .update(JSON.stringify(showManifest(object)))
    .digest('base64url');

const describeWritten = ({ object, warnings }: Written): ManifestResult => ({
  name: object.metadata.name,
  manifest: showManifest(object),
  warnings,
});
