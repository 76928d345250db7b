/** Validates JSON against the OpenAI SDK's own published types. */
import { Ajv, type ValidateFunction } from 'ajv';
import { createGenerator, type SchemaGenerator } from 'ts-json-schema-generator';

export type WireType =
  | 'ChatCompletion'
  | 'ChatCompletionChunk'
  | 'Completion'
  | 'CompletionChunk'
  | 'CreateEmbeddingResponse'
  | 'Model'
  | 'ImagesResponse'
  | 'ImageGenCompletedEvent'
  | 'ImageEditCompletedEvent'
  | 'Video'
  | 'VideoList'
  | 'Acknowledgement'
  | 'InferenceRequest'
  | 'RequestList'
  | 'Message'
  | 'MessageEvent'
  | 'InputTokenCountResponse'
  | 'MessageTokensCount'
  | 'Response'
  | 'ResponseStreamEvent';

let generator: SchemaGenerator | undefined;
const validators = new Map<WireType, ValidateFunction>();

/** The violations of `value` against an OpenAI type, in words; empty when it matches. */
export function findViolations(type: WireType, value: unknown): string[] {
  const validate = readValidator(type);
  if (validate(value)) return [];
  return (validate.errors ?? []).map((error) => `${type}${error.instancePath} ${error.message}`);
}

function readValidator(type: WireType): ValidateFunction {
  const known = validators.get(type);
  if (known) return known;
  generator ??= createGenerator({
    path: 'test/conformance/wire-types.ts',
    tsconfig: 'test/conformance/tsconfig.json',
    type: '*',
    skipTypeCheck: true,
    // Unknown fields are additive; required and typed ones must be right.
    additionalProperties: true,
  });
  const validate = new Ajv({ strict: false, allErrors: true }).compile(generator.createSchema(type));
  validators.set(type, validate);
  return validate;
}
