/**
 * Rerankers that engines do not serve well by their configuration only: published as language models, or trained on a prompt without
 * which they rank badly, without an error. From the examples of vLLM 0.28 and SGLang 0.5.18, whose images have the templates.
 */
import type { ModelDeploymentSpec } from '../../api/model-deployment.ts';
import { listNames } from './model-families.ts';

export interface Reranker {
  /** Overrides of the model's configuration, for vLLM; absent: none is needed. */
  overrides?: object;
  /** Prompt of vLLM's examples; absent: none is needed. */
  vllmTemplate?: string;
  /** Prompt of SGLang's examples; absent: SGLang cannot rank with the model. */
  sglangTemplate?: string;
}

interface NamedReranker extends Reranker {
  /** Matches repositories and paths, in lowercase; the first match counts. */
  pattern: RegExp;
}

/** For language models that score a text by the tokens "no" and "yes". */
const describeQwen3 = (architecture: string) => ({
  architectures: [architecture],
  classifier_from_token: ['no', 'yes'],
  is_original_qwen3_reranker: true,
});

const QWEN3_TEMPLATE = 'qwen3_reranker.jinja';
const QWEN3_VL_TEMPLATE = 'qwen3_vl_reranker.jinja';
const MXBAI_TEMPLATE = 'mxbai_rerank_v2.jinja';
const BGE_GEMMA_TEMPLATE = 'bge-reranker-v2-gemma.jinja';

const RERANKERS: readonly NamedReranker[] = [
  // Converted copies have a classifier, and still need the prompt.
  { pattern: /qwen3-vl-reranker.*-seq(-?cls)?\b/, vllmTemplate: QWEN3_VL_TEMPLATE },
  { pattern: /qwen3-reranker.*-seq(-?cls)?\b/, vllmTemplate: QWEN3_TEMPLATE },
  { pattern: /mxbai-rerank-(base|large)-v2.*-seq(-?cls)?\b/, vllmTemplate: MXBAI_TEMPLATE },
  { pattern: /bge-reranker-v2-gemma.*-seq(-?cls)?\b/, vllmTemplate: BGE_GEMMA_TEMPLATE },
  {
    pattern: /qwen3-vl-reranker/,
    overrides: describeQwen3('Qwen3VLForSequenceClassification'),
    vllmTemplate: QWEN3_VL_TEMPLATE,
    sglangTemplate: QWEN3_VL_TEMPLATE,
  },
  {
    pattern: /qwen3-reranker/,
    overrides: describeQwen3('Qwen3ForSequenceClassification'),
    vllmTemplate: QWEN3_TEMPLATE,
    sglangTemplate: QWEN3_TEMPLATE,
  },
  {
    pattern: /mxbai-rerank-(base|large)-v2/,
    overrides: {
      architectures: ['Qwen2ForSequenceClassification'],
      classifier_from_token: ['0', '1'],
      method: 'from_2_way_softmax',
    },
    vllmTemplate: MXBAI_TEMPLATE,
  },
  {
    pattern: /bge-reranker-v2-gemma/,
    overrides: {
      architectures: ['GemmaForSequenceClassification'],
      classifier_from_token: ['Yes'],
      method: 'no_post_processing',
    },
    vllmTemplate: BGE_GEMMA_TEMPLATE,
  },
  { pattern: /llama-nemotron-rerank-vl-1b-v2/, vllmTemplate: 'nemotron-vl-rerank.jinja' },
  { pattern: /llama-nemotron-rerank-1b-v2/, vllmTemplate: 'nemotron-rerank.jinja' },
  // The architecture in its configuration is too general for vLLM.
  {
    pattern: /gte-multilingual-reranker-base/,
    overrides: { architectures: ['GteNewForSequenceClassification'] },
  },
];

/** Undefined for other kinds, and for rerankers that need nothing. */
export function findReranker({ kind, model }: ModelDeploymentSpec): Reranker | undefined {
  if (kind !== 'Rerank') return undefined;
  for (const name of listNames(model.source, model.id)) {
    const found = RERANKERS.find(({ pattern }) => pattern.test(name));
    if (found) return found;
  }
  return undefined;
}
