/** Errors as vLLM words and shapes them: `{"error": {message, type, param, code}}`, the code an integer. */

export interface EngineErrorBody {
  error: { message: string; type: string; param: string | null; code: number };
}

/** A refusal that becomes the answer of the call. */
export class EngineError extends Error {
  readonly status: number;
  readonly type: string;
  readonly param: string | null;

  constructor(status: number, type: string, message: string, param: string | null = null) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = param;
  }

  toBody(): EngineErrorBody {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.status } };
  }
}

/** A request that can be read but not served. */
export const refuse = (message: string, param: string | null = null): EngineError =>
  new EngineError(400, 'BadRequestError', message, param);

/** A field of the wrong type or missing, with vLLM's validation message. */
export const refuseField = (path: (string | number)[], problem: string): EngineError => {
  const location = ['body', ...path]
    .map((part) => (typeof part === 'number' ? part : `'${part}'`))
    .join(', ');
  return new EngineError(
    400,
    'Bad Request',
    `1 validation error:\n  {'loc': (${location}), 'msg': '${problem}'}`,
    path
      .map((part, index) => (typeof part === 'number' ? `[${part}]` : index > 0 ? `.${part}` : part))
      .join('') || null,
  );
};

export const refuseRoute = (status: 404 | 405): EngineError => {
  const text = status === 404 ? 'Not Found' : 'Method Not Allowed';
  return new EngineError(status, text, text);
};

/** `alias`: the name that it would have; null if the engine does not tell. */
export const refuseModel = (
  model: string,
  alias: string | null,
  param: string | null = 'model',
): EngineError =>
  new EngineError(
    404,
    'NotFoundError',
    `The model \`${model}\` does not exist.${alias === null ? '' : ` Valid aliases: ${alias}.`}`,
    param,
  );

export const refuseLoading = (): EngineError =>
  new EngineError(503, 'ServiceUnavailableError', 'Loading model');
