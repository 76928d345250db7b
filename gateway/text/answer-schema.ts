/** Fills fields that OpenAI's schemas require and some engines omit; each function returns whether it changed anything. */
import { type JSONObject as Answer, isObject } from '../../kit/json.ts';

export function completeChat(answer: Answer, modelId: string): boolean {
  let isChanged = completeModel(answer, modelId);
  isChanged = dropFingerprint(answer) || isChanged;
  for (const choice of listOf(answer.choices)) {
    isChanged = fillNull(choice, 'logprobs') || isChanged;
    // llama.cpp has only those of the content.
    if (isObject(choice.logprobs)) isChanged = fillNull(choice.logprobs, 'refusal') || isChanged;
    if (isObject(choice.message)) {
      isChanged = fillNull(choice.message, 'refusal') || isChanged;
      isChanged = fillNull(choice.message, 'content') || isChanged;
      isChanged = dropNull(choice.message, 'annotations') || isChanged;
    }
  }
  return dropUsageNulls(answer) || isChanged;
}

export function completeCompletion(answer: Answer, modelId: string): boolean {
  let isChanged = completeModel(answer, modelId);
  isChanged = dropFingerprint(answer) || isChanged;
  for (const choice of listOf(answer.choices)) isChanged = fillNull(choice, 'logprobs') || isChanged;
  return dropUsageNulls(answer) || isChanged;
}

/** It shows the engine's version and parallelism; OpenAI's schema does not require it. */
function dropFingerprint(answer: Answer): boolean {
  if (answer.system_fingerprint === undefined) return false;
  delete answer.system_fingerprint;
  return true;
}

/** vLLM sends null for what it does not count; OpenAI omits it. */
function dropUsageNulls({ usage }: Answer): boolean {
  if (!isObject(usage)) return false;
  const { prompt_tokens_details: input } = usage;
  const isChanged = isObject(input) && dropNulls(input);
  return dropNulls(usage) || isChanged;
}

/** Replaces the engine's own model name with the deployment's model id. */
export function completeModel(answer: Answer, modelId: string): boolean {
  if (answer.model === modelId) return false;
  answer.model = modelId;
  return true;
}

/** Returns whether it was absent. */
export function fillAbsent(object: Answer, name: string, value: unknown): boolean {
  if (object[name] !== undefined) return false;
  object[name] = value;
  return true;
}

const fillNull = (object: Answer, name: string): boolean => fillAbsent(object, name, null);

export function dropNull(object: Answer, name: string): boolean {
  if (object[name] !== null) return false;
  delete object[name];
  return true;
}

/** All null members except `kept`. */
export function dropNulls(object: Answer, kept: readonly string[] = []): boolean {
  const names = Object.keys(object).filter((name) => object[name] === null && !kept.includes(name));
  for (const name of names) delete object[name];
  return names.length > 0;
}

export const listOf = (value: unknown): Answer[] => (Array.isArray(value) ? value.filter(isObject) : []);
