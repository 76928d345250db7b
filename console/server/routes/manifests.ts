/** Manifests of deployments: created, viewed and edited as the user, with a dry run first. */
import { createHash } from 'node:crypto';
import { modelDeploymentResource } from '../../../api/model-deployment.ts';
import type { ManifestResult } from '../../api.ts';
import { routes } from '../../routes.ts';
import { ConsoleError } from '../http/error.ts';
import type { Written } from '../kubernetes/client.ts';
import type { KubeObject } from '../kubernetes/object.ts';
import { replaceObject } from '../kubernetes/replacement.ts';
import { mergeManifest, readManifest, showManifest } from '../views/manifest.ts';
import type { Call, ServeRoute } from './served-route.ts';
import type { Services } from './services.ts';

const { plural } = modelDeploymentResource;

export function addManifestRoutes(serve: ServeRoute, { kubernetes }: Services): void {
  const create =
    ({ dryRun }: { dryRun: boolean }) =>
    async ({ ctx, session, namespace, readBody }: Call<typeof routes.createDeployment>) => {
      const object = readManifest((await readBody()).manifest, { namespace });
      ctx.status = dryRun ? 200 : 201;
      return describeWritten(await kubernetes.write(session, { plural, namespace }, object, { dryRun }));
    };
  const replace =
    ({ dryRun }: { dryRun: boolean }) =>
    async ({ session, namespace, name, readBody }: Call<typeof routes.replaceDeployment>) => {
      const { manifest, version } = await readBody();
      const edited = readManifest(manifest, { namespace, name });
      const change = (stored: KubeObject) => {
        if (version !== undefined && version !== versionOf(stored))
          throw new ConsoleError('conflict', `${name} was changed meanwhile. Reload it, then edit it again.`);
        return mergeManifest(stored, edited);
      };
      const replacement = { name, change, dryRun };
      return describeWritten(await replaceObject(kubernetes, session, { plural, namespace }, replacement));
    };
  serve(routes.createDeployment, create({ dryRun: false }));
  serve(routes.tryNewDeployment, create({ dryRun: true }));
  serve(routes.replaceDeployment, replace({ dryRun: false }));
  serve(routes.tryDeployment, replace({ dryRun: true }));

  serve(routes.readManifest, async ({ session, namespace, name }) => {
    const object = await kubernetes.get(session.token, { plural, namespace }, name);
    return { manifest: showManifest(object), version: versionOf(object) };
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
