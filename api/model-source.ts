/** Where a deployment's weights come from. */
import { z } from 'zod';
import { cel, objectName, secretKey } from './kubernetes-types.ts';
import { quantity } from './quantity.ts';

const huggingFace = z
  .object({
    repo: z.string().min(1).max(200).describe('Repository on the Hugging Face hub, such as Qwen/Qwen3-8B.'),
    revision: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Branch, tag or commit; the default branch if absent.'),
    tokenSecret: secretKey(
      'Secret key that holds the access token of a gated or private repository.',
    ).optional(),
    cache: z
      .object({
        claimName: objectName('An existing claim; several deployments may share one.').optional(),
        size: quantity('Size of a claim that the operator creates, such as 100Gi.').optional(),
        storageClassName: z
          .string()
          .max(253)
          .optional()
          .describe("Storage class of that claim; the cluster's default if absent."),
        accessMode: z
          .enum(['ReadWriteOnce', 'ReadWriteMany'])
          .default('ReadWriteOnce')
          .describe('Access mode of that claim.'),
      })
      .meta({
        description: 'Volume that keeps downloads across pods; without one, each pod downloads again.',
        ...cel({
          rule: 'has(self.claimName) != has(self.size)',
          message:
            'give exactly one of claimName (an existing claim) or size (a claim that the operator creates)',
        }),
      })
      .optional(),
  })
  .describe('Weights from the Hugging Face hub, downloaded by the engine.');

const s3 = z
  .object({
    uri: z
      .string()
      .max(1024)
      .regex(/^s3:\/\/[a-z0-9][a-z0-9.-]+(\/.*)?$/, 'must look like s3://bucket/prefix')
      .describe('Bucket and prefix, such as s3://models/llama-3.'),
    endpoint: z.string().max(512).optional().describe('URL of the store; AWS if absent.'),
    region: z.string().max(64).default('us-east-1').describe('Region of the bucket.'),
    secret: objectName('Secret with keys accessKeyId and secretAccessKey; anonymous if absent.').optional(),
    workloadIdentity: z
      .boolean()
      .optional()
      .describe(
        "Use the cloud identity of the pod's service account (IRSA, EKS Pod Identity); needs template.serviceAccountName.",
      ),
    pathStyle: z.boolean().default(true).describe('Address buckets by path, as MinIO does.'),
    size: quantity('Size limit of the pod-local copy.').optional(),
  })
  .meta({
    description: 'Weights copied from S3 by an init container, again for each pod.',
    ...cel({
      rule: '!(has(self.secret) && has(self.workloadIdentity) && self.workloadIdentity)',
      message: 'secret and workloadIdentity cannot be given together',
      fieldPath: '.secret',
    }),
  });

const pvc = z
  .object({
    claimName: objectName('The claim that holds the weights; mounted read-only.'),
    path: z.string().max(1024).default('').describe('Folder or file within the claim.'),
  })
  .describe('Weights on a volume that you provide.');

const image = z
  .object({
    reference: z.string().min(1).max(512).describe('OCI artifact or image that holds the weights.'),
    mode: z
      .enum(['Volume', 'Copy'])
      .default('Volume')
      .describe(
        'Volume mounts it (Kubernetes 1.35, containerd 2.1); Copy pulls it by an init container and works everywhere, if the image has cp.',
      ),
    path: z.string().max(1024).default('').describe('Folder or file within the image.'),
    pullPolicy: z
      .enum(['Always', 'IfNotPresent', 'Never'])
      .default('IfNotPresent')
      .describe('When the kubelet pulls the image.'),
  })
  .describe('Weights in an OCI image.');

const cache = z
  .object({
    claimName: objectName(
      'An existing claim that deployments of the namespace share; ReadWriteMany unless all pods are on one node.',
    ),
    limit: quantity(
      'Size of all models in the claim, such as 500Gi; the least recently used are evicted first. The whole volume if absent.',
    ).optional(),
    prefetch: z
      .boolean()
      .default(true)
      .describe('Download the weights as soon as the deployment exists, before a pod needs them.'),
  })
  .describe('Keeps the weights of huggingFace or s3 in a claim: one download for all pods and deployments.');

const ONE_SOURCE =
  '[has(self.huggingFace), has(self.s3), has(self.pvc), has(self.image), has(self.none)].filter(x, x).size() == 1';

export const modelSource = z
  .object({
    huggingFace: huggingFace.optional(),
    s3: s3.optional(),
    pvc: pvc.optional(),
    image: image.optional(),
    none: z.object({}).optional().describe('The engine has its own weights, or needs none.'),
    cache: cache.optional(),
  })
  .meta({
    description: 'Where the weights come from: exactly one of huggingFace, s3, pvc, image, none.',
    ...cel(
      { rule: ONE_SOURCE, message: 'exactly one of huggingFace, s3, pvc, image, none is allowed' },
      {
        rule: '!has(self.cache) || has(self.s3) || (has(self.huggingFace) && !has(self.huggingFace.cache))',
        message: 'cache is for s3, and for huggingFace without a cache of its own',
        fieldPath: '.cache',
      },
    ),
  });
export type ModelSource = z.infer<typeof modelSource>;
