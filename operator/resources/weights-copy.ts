/** Init containers that copy weights into a folder of the pod. */
import type { V1Container, V1EnvVar } from '@kubernetes/client-node';
import type { ModelSource } from '../../api/model-source.ts';
import { variables } from '../engines/engine.ts';
import { prefixImage } from './images.ts';
import { restricted, type SecurityPlatform } from './security.ts';
import type { BuildSettings } from './settings.ts';

export const MODELS_PATH = '/models';
export const WEIGHTS_VOLUME = 'weights';

/** For S3 a prefix without objects is not an error; neither is a copy that a restart finds complete. */
const COPY_SCRIPT = `rclone copy "$@" || exit; ls -A ${MODELS_PATH} | grep -q . || { echo "nothing found at $1" >&2; exit 1; }`;

/** Not where the image itself may have its weights: the mount would hide them. */
const COPY_PATH = '/berth-weights';

const writableMount = { name: WEIGHTS_VOLUME, mountPath: MODELS_PATH };

type S3 = NonNullable<ModelSource['s3']>;

export type CopySettings = Pick<BuildSettings, 's3CopyImage' | 'imageRegistry' | 'downloadEnv' | 'platform'>;

export function buildS3Copy(source: S3, settings: CopySettings): V1Container {
  const { uri } = source;
  return {
    name: 'fetch-weights',
    image: prefixImage(settings.s3CopyImage, settings.imageRegistry),
    command: ['sh', '-c', COPY_SCRIPT, 'fetch'],
    args: [
      `:s3:${uri.slice('s3://'.length)}`,
      MODELS_PATH,
      '--transfers=8',
      '--multi-thread-streams=8',
      '--stats=30s',
      '--stats-one-line',
      '--stats-log-level=NOTICE',
    ],
    env: [...s3Environment(source), ...settings.downloadEnv],
    volumeMounts: [writableMount],
    securityContext: restricted(settings.platform),
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}

function s3Environment({ endpoint, region, secret, workloadIdentity, pathStyle }: S3): V1EnvVar[] {
  const fromSecret = (name: string, key: string): V1EnvVar => ({
    name,
    valueFrom: { secretKeyRef: { name: secret!, key } },
  });
  return [
    ...variables({
      // No configuration file: everything is in the environment.
      RCLONE_CONFIG: '/dev/null',
      RCLONE_S3_PROVIDER: endpoint ? 'Other' : 'AWS',
      RCLONE_S3_REGION: region,
      RCLONE_S3_FORCE_PATH_STYLE: String(pathStyle),
      ...(endpoint ? { RCLONE_S3_ENDPOINT: endpoint } : {}),
      // The pod's own identity, never its node's.
      ...(workloadIdentity ? { RCLONE_S3_ENV_AUTH: 'true', AWS_EC2_METADATA_DISABLED: 'true' } : {}),
    }),
    ...(secret
      ? [
          fromSecret('RCLONE_S3_ACCESS_KEY_ID', 'accessKeyId'),
          fromSecret('RCLONE_S3_SECRET_ACCESS_KEY', 'secretAccessKey'),
        ]
      : []),
  ];
}

/** Runs the image with the weights, so the kubelet pulls it like any other; it needs `cp`. */
export function buildImageCopy(
  source: NonNullable<ModelSource['image']>,
  platform: SecurityPlatform,
): V1Container {
  const from = joinPath('/', source.path);
  return {
    name: 'copy-weights',
    image: source.reference,
    imagePullPolicy: source.pullPolicy,
    command: ['cp', '-R', from.endsWith('.gguf') ? from : `${from}/.`, `${COPY_PATH}/`],
    volumeMounts: [{ ...writableMount, mountPath: COPY_PATH }],
    securityContext: restricted(platform),
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
}

export function joinPath(folder: string, path: string): string {
  const inner = path.replace(/^\/+|\/+$/g, '');
  return inner === '' ? folder : `${folder.replace(/\/+$/, '')}/${inner}`;
}
