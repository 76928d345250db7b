/** vLLM's run-time loading of LoRA adapters: its routes, answers and refusals. They are lost when the process ends. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Call } from './call.ts';
import type { Engine } from './engine.ts';
import { EngineError, refuse, refuseRoute } from './errors.ts';
import { isObject } from './fields.ts';
import { parseJSON, readBody } from './request-body.ts';

const MAX_BODY_BYTES = 64 * 1024;

type Change = (engine: Engine, fields: Record<string, unknown>) => string;

/** Only with VLLM_ALLOW_RUNTIME_LORA_UPDATING, as vLLM has them. */
const ROUTES = new Map<string, Change>([
  ['/v1/load_lora_adapter', load],
  ['/v1/unload_lora_adapter', unload],
]);

export const isAdapterPath = (path: string): boolean => ROUTES.has(path);

export async function serveAdapters(engine: Engine, call: Call, path: string): Promise<void> {
  if (call.request.method !== 'POST') return call.sendRefusal(refuseRoute(405));
  const body = parseJSON(await readBody(call.request, MAX_BODY_BYTES));
  if (!body.ok || !isObject(body.value)) throw refuse('JSON decode error');
  call.sendText(200, ROUTES.get(path)!(engine, body.value));
}

const refuseInput = (message: string): EngineError => new EngineError(400, 'InvalidUserInput', message);
const refuseUnknown = (message: string): EngineError => new EngineError(404, 'NotFoundError', message);

function load({ adapters }: Engine, { lora_name: name, lora_path: path }: Record<string, unknown>): string {
  if (typeof name !== 'string' || typeof path !== 'string' || !name || !path)
    throw refuseInput("Both 'lora_name' and 'lora_path' must be provided.");
  if (adapters.has(name)) throw refuseInput(`The lora adapter '${name}' has already been loaded.`);
  if (!existsSync(join(path, 'adapter_config.json')))
    throw refuseUnknown(`Loading lora ${name} failed: No adapter found for ${path}`);
  adapters.set(name, path);
  return `Success: LoRA adapter '${name}' added successfully.`;
}

function unload({ adapters }: Engine, { lora_name: name }: Record<string, unknown>): string {
  if (typeof name !== 'string' || !name)
    throw refuseInput("Either 'lora_name' or 'lora_int_id' needs to be provided.");
  if (!adapters.delete(name)) throw refuseUnknown(`The lora adapter '${name}' cannot be found.`);
  return `Success: LoRA adapter '${name}' removed successfully.`;
}
