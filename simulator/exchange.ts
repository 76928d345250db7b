/** A call of an inference route, from what was received to fields that can be read. */
import type { Call } from './call.ts';
import type { Engine, Kind } from './engine.ts';
import { type EngineError, refuse, refuseField, refuseModel, refuseRoute } from './errors.ts';
import { type Fields, isObject } from './fields.ts';
import type { ParsedForm, UploadedFile } from './form-body.ts';
import type { ParsedBody } from './request-body.ts';

export interface Exchange {
  engine: Engine;
  call: Call;
  route: InferenceRoute;
  body: ParsedBody | ParsedForm;
  /** The call no longer counts as in flight, because its job does. */
  release: () => void;
}

export interface InferenceRoute {
  kinds: readonly Kind[];
  /** As an engine's message calls it. */
  name: string;
  /** Absent: JSON alone. */
  takesForms?: true;
  /** The prompt, as the control port shows it. */
  peek: (body: Fields) => string | undefined;
  /** The body of a refusal, where the dialect has its own. */
  describeError?: (error: EngineError) => object;
  /** Answers the call; throws an EngineError to refuse it. */
  serve: (exchange: Exchange) => Promise<void>;
}

/** Throws an EngineError for a body that cannot be read, for another kind of model and for another model. */
export function checkBody({ engine, call, route, body }: Exchange): Fields {
  const { kind, model } = engine.options;
  const habits = engine.personality.text;
  if (habits && !route.kinds.includes(kind)) throw refuseRoute(404);
  habits?.checkContent(call.request.headers['content-type'], body);
  if (!body.ok) throw refuseField([], `${route.takesForms ? 'Body' : 'JSON'} decode error: ${body.problem}`);
  if (!isObject(body.value)) throw refuseField([], 'Input should be a valid dictionary');
  if (!route.kinds.includes(kind)) throw refuse(`The model does not support ${route.name} API`);
  const wanted = body.value.model ?? model;
  if (typeof wanted !== 'string') throw refuseField(['model'], 'Input should be a valid string');
  if (wanted === model || engine.adapters.has(wanted)) return body.value;
  // Routes of pooling tell neither the field nor the right name.
  if (habits && kind !== 'LLM') throw refuseModel(wanted, null, null);
  throw refuseModel(wanted, habits && model);
}

/** The files of a form under any of the names; none with a JSON body. */
export const listFiles = ({ body }: Exchange, ...names: string[]): UploadedFile[] =>
  body.ok && 'files' in body ? body.files.filter(({ name }) => names.includes(name)) : [];
