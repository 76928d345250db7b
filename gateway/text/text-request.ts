/** Parses a text request and builds what the engine is sent. */
import { traitsOf } from '../../api/engine-traits.ts';
import type { GatewayConfig } from '../../api/gateway-config.ts';
import { listPromptSizes } from '../engine/choice-usage.ts';
import type { Reading } from '../engine/whole-answer.ts';
import type { JsonBody } from '../http/body-parsing.ts';
import { ApiError } from '../http/error-response.ts';
import type { Continuable } from './continuation.ts';
import { checkFields } from './fields.ts';
import type { MediaReference } from './media-inlining.ts';
import { getMemberOf, setMembers, setMembersInBytes } from './request-body.ts';
import type { AnswerRequest, TextRoute } from './text-route.ts';

export interface TextRequest extends AnswerRequest {
  /** At the engine. */
  path: string;
  /** Priority of the key, on the engine's scale; 0 is every engine's default. */
  priority: number;
  /** For an engine with its own format. */
  read: Reading | undefined;
  isStream: boolean;
  /** Null: a broken stream ends with an error. */
  continuable: Continuable | null;
  /** For an estimate of tokens if the engine reports no usage. */
  promptBytes: number;
  /** Media that the payload references by URL, to be inlined. */
  media: MediaReference[];
  /** Types of tools that the payload lacks. */
  omittedTools: readonly string[];
}

type Model = Pick<
  GatewayConfig,
  'modelId' | 'servedModelName' | 'enginePreset' | 'enginePriority' | 'continueStreams'
>;

/** Validates the documented fields and forwards all others unchanged. `keyPriority`: higher first. Throws ApiError. */
export function readTextRequest(
  body: JsonBody,
  route: TextRoute,
  model: Model,
  keyPriority = 0,
): TextRequest {
  const { value, raw } = body;
  checkFields(value, route.fields);
  checkOptionalModel(value.model, model);
  route.refuse?.(value);
  const { characters, media } = route.readMedia(value);
  const omission = route.omit?.(body);
  const translation = route.translate?.(value, model.enginePreset);
  const priority = decidePriority(model, keyPriority);
  const isStream = route.stream !== null && value.stream === true;
  const options = value.stream_options as { include_usage?: unknown } | null | undefined;
  const continuable = (model.continueStreams && route.readContinuable?.(value, model.enginePreset)) || null;
  const isUsageWanted = isStream && options?.include_usage === true;
  return {
    path: translation?.path ?? route.path,
    payload: translation?.body
      ? writeTranslation(translation.body, model.servedModelName, priority)
      : buildPayload(body, model, {
          fixed: [...(translation?.fixed ?? route.fixed ?? []), ...(omission?.members ?? [])],
          priority,
          usage: {
            include_usage: isStream && route.stream!.needsUsageOption && !isUsageWanted,
            continuous_usage_stats:
              continuable !== null && traitsOf(model.enginePreset).reportsUsageContinuously,
          },
        }),
    priority,
    read: translation?.read,
    isStream,
    isUsageWanted,
    n: typeof value.n === 'number' ? value.n : 1,
    promptSizes: listPromptSizes(value.prompt),
    continuable,
    vectors: route.readVectors?.(value, model.enginePreset) ?? null,
    promptBytes: raw.length - characters,
    media: translation?.media ?? media,
    omittedTools: omission?.names ?? [],
  };
}

/** `model` is optional; when given, it must be the deployment's model id (docs/api.md, "POST /v1/chat/completions"). */
export function checkOptionalModel(given: unknown, { modelId }: Pick<Model, 'modelId'>): void {
  if (given === undefined || given === null || given === modelId) return;
  throw new ApiError(
    'model_mismatch',
    `\`model\` must be "${modelId}", the model of this deployment, or be omitted.`,
    { param: 'model' },
  );
}

interface Changes {
  fixed: readonly (readonly [string, string])[];
  priority: number;
  usage: UsageOptions;
}

/** Stream options that the gateway sets. */
type UsageOptions = Readonly<Record<'include_usage' | 'continuous_usage_stats', boolean>>;

/** The body with the engine's model name, the route's fixed members, the key's priority and usage reporting enabled. */
function buildPayload(
  body: JsonBody,
  { servedModelName }: Model,
  { fixed, priority, usage }: Changes,
): Buffer {
  const { value, raw } = body;
  const changes = new Map(fixed);
  if (value.model !== servedModelName) changes.set('model', JSON.stringify(servedModelName));
  // The client's own priority would let it jump the queue.
  if (priority !== 0 || value.priority !== undefined) changes.set('priority', String(priority));
  const options = writeUsageOptions(body, usage);
  if (options !== null) changes.set('stream_options', options);
  return changes.size === 0 ? raw : setMembersInBytes(body, changes);
}

/** Also without the client's own priority. */
const writeTranslation = (body: object, model: string, priority: number): Buffer =>
  Buffer.from(JSON.stringify({ ...body, model, priority: priority === 0 ? undefined : priority }));

function decidePriority({ enginePriority }: Model, keyPriority: number): number {
  if (enginePriority === undefined || keyPriority === 0) return 0;
  return enginePriority === 'lower-first' ? -keyPriority : keyPriority;
}

/** The client's other stream options are kept. Null: nothing to set. */
function writeUsageOptions(body: JsonBody, usage: UsageOptions): string | null {
  if (!usage.include_usage && !usage.continuous_usage_stats) return null;
  const wanted = Object.entries(usage).flatMap(([name, isWanted]) =>
    isWanted ? [[name, 'true'] as const] : [],
  );
  const options = body.value.stream_options ? getMemberOf(body, 'stream_options') : null;
  return setMembers(options ?? '{}', new Map(wanted));
}
