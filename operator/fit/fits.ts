/** Verdicts on what fits, from the model hub and the nodes. */
import {
  HUB_REPOSITORY,
  HUB_REVISION,
  INTERNAL_PATHS,
  type LookUpModelAnswer,
  type LookUpModelQuestion,
} from '../../api/internal-api.ts';
import type { ModelDeployment, ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { isForbidden } from '../../kube/api-error.ts';
import type { KubeClient } from '../../kube/client.ts';
import { RESOURCES, type Resource } from '../../kube/resource.ts';
import {
  createFrontCheck,
  type FrontAddress,
  type FrontCheck,
  type Unanswered,
} from '../framework/front-client.ts';
import { NOT_LOOKED_UP, type Verdict } from '../status/condition-list.ts';
import { evaluateFit, isEstimated, type ModelSize } from './fit-verdict.ts';
import { findGPUMemory, GPU_MEMORY_LABELS, type GPUNode } from './gpu-memory.ts';
import { LookupCache } from './lookup-cache.ts';

export type ModelLookup = FrontCheck<LookUpModelQuestion, LookUpModelAnswer>;

export const createModelLookup = (front: FrontAddress): ModelLookup =>
  createFrontCheck(front, { path: INTERNAL_PATHS.lookUpModel, isAnswer });

function isAnswer(body: unknown): body is LookUpModelAnswer {
  const { found, message } = (body ?? {}) as { found?: unknown; message?: unknown };
  return found === true || (found === false && typeof message === 'string');
}

export interface FitsOptions {
  lookUp: ModelLookup;
  client: Pick<KubeClient, 'list'>;
  /** URL of the hub; undefined: no lookups. */
  hub: string | undefined;
  /** Nodes are cluster-scoped, so an operator that is confined to namespaces may not read them. */
  mayReadNodes: boolean;
  /** `namespace/name` of a deployment whose verdict may have changed. */
  onChange: (key: string) => void;
  now: () => number;
  signal: AbortSignal;
}

type Answer = LookUpModelAnswer | Unanswered;

const DAY_MS = 86_400_000;
const RETRY_MS = 10 * 60_000;
/** Retry interval while no front is available. */
export const FRONT_RETRY_MS = 60_000;
const NODES_INTERVAL_MS = 10 * 60_000;
const MAX_NODES = 2_000;
/** Metadata only: only a node's labels are read. */
const NODE: Resource = { ...RESOURCES.Node, isListedByMetadata: true };

export class Fits {
  readonly #options: FitsOptions;
  readonly #models: LookupCache<Answer>;
  readonly #nodes: LookupCache<GPUNode[]>;

  constructor(options: FitsOptions) {
    const { lookUp, hub, now, onChange, signal } = options;
    this.#options = options;
    this.#models = new LookupCache<Answer>({
      read: (key) => {
        const [repo, revision] = JSON.parse(key) as [string, string];
        return lookUp({ hub: hub!, repo, revision }, signal);
      },
      maxAgeMs: decideMaxAge,
      // A temporary outage of the hub or front does not withdraw a verdict.
      isKnown: (answer) => !('unanswered' in answer) && (answer.found || answer.isFinal),
      onChange,
      now,
    });
    this.#nodes = new LookupCache<GPUNode[]>({
      read: (label) => this.#listNodes(label),
      maxAgeMs: (nodes) => (nodes ? NODES_INTERVAL_MS : FRONT_RETRY_MS),
      onChange,
      now,
    });
  }

  /** Undefined if there is no verdict. */
  evaluate({ metadata, spec }: Pick<ModelDeployment, 'metadata' | 'spec'>): Verdict | 'Pending' | undefined {
    const key = `${metadata.namespace}/${metadata.name}`;
    if (!isEstimated(spec)) {
      this.delete(key);
      return undefined;
    }
    const size = this.#findSize(spec, key);
    const nodes = this.#findNodes(spec, key);
    if (size === undefined || nodes === undefined) return 'Pending';
    return evaluateFit(spec, size, findGPUMemory(spec, nodes));
  }

  /** The deployment `namespace/name` is gone: stops lookups for it. */
  delete(key: string): void {
    this.#models.forget(key);
    this.#nodes.forget(key);
  }

  /** Undefined while it is looked up. */
  #findSize({ model, engine }: ModelDeploymentSpec, key: string): ModelSize | undefined {
    const question = this.#decideQuestion({ model, engine });
    if ('reason' in question) {
      this.#models.forget(key);
      return question;
    }
    const { repo, revision } = question;
    const answer = this.#models.find(JSON.stringify([repo, revision]), key);
    if (!answer) return undefined;
    if ('unanswered' in answer)
      return unknown(NOT_LOOKED_UP, `${repo} was not looked up yet: ${answer.unanswered}`);
    if (!answer.found) return unknown('ModelNotRead', `${repo} ${answer.message}`);
    const { shape, weightBytes } = answer;
    if (weightBytes === null) return unknown('ModelNotRead', `${repo} has no safetensors with a known size`);
    return { shape, weightBytes };
  }

  /** What to look up, or why not. */
  #decideQuestion({
    model,
    engine,
  }: Pick<ModelDeploymentSpec, 'model' | 'engine'>):
    | { repo: string; revision: string }
    | { reason: string; message: string } {
    const { huggingFace } = model.source;
    if (!huggingFace) return unknown('SourceNotRead', 'lookups cover models of a hub only, not this source');
    if (engine.env.some(({ name }) => name === 'HF_ENDPOINT'))
      return unknown('SourceNotRead', 'lookups skip the custom HF_ENDPOINT in spec.engine.env');
    if (this.#options.hub === undefined)
      return unknown(
        'LookupDisabled',
        'lookups are disabled in this installation (operator.modelHub in the chart)',
      );
    const { repo, revision = 'main' } = huggingFace;
    if (!HUB_REPOSITORY.test(repo)) return unknown('ModelNotRead', `${repo} is not the name of a repository`);
    if (!HUB_REVISION.test(revision)) return unknown('ModelNotRead', `${repo} has no revision ${revision}`);
    return { repo, revision };
  }

  #findNodes({ gpu }: ModelDeploymentSpec, key: string): readonly GPUNode[] | undefined {
    if (!this.#options.mayReadNodes || gpu?.memory) {
      this.#nodes.forget(key);
      return [];
    }
    const label = gpu?.resourceName.startsWith('amd.com/') ? GPU_MEMORY_LABELS.amd : GPU_MEMORY_LABELS.nvidia;
    return this.#nodes.find(label, key);
  }

  /** Only the first ones of a large cluster; none if they may not be read. */
  async #listNodes(labelSelector: string): Promise<GPUNode[]> {
    const { client, signal } = this.#options;
    const page = await client.list(NODE, { labelSelector, limit: MAX_NODES, signal }).catch((error) => {
      if (isForbidden(error)) return undefined;
      throw error;
    });
    return (page?.items ?? []).map(({ metadata }) => metadata.labels ?? {});
  }
}

function decideMaxAge(answer: Answer | undefined): number {
  if (!answer || 'unanswered' in answer) return FRONT_RETRY_MS;
  return answer.found || answer.isFinal ? DAY_MS : RETRY_MS;
}

const unknown = (reason: string, message: string) => ({ reason, message });
