/** Why a multipart form is refused. */
import { ApiError } from '../http/error-response.ts';
import type { Exchange } from '../http/exchange.ts';
import { refuseUploads, UploadError } from '../storage/upload-error.ts';

const MAX_FIELD_NAME = 100;

/** Before anything is read. `types`: what the route accepts. Throws ApiError. */
export function checkFormHeaders(
  { req }: Exchange,
  { multipartBodyBytes }: { multipartBodyBytes: number },
  types: string,
): void {
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new ApiError(
      'unsupported_encoding',
      `Content-Encoding ${encoding.slice(0, 50)} is not supported: send the body uncompressed.`,
    );
  const type = req.headers['content-type'] ?? '';
  if (!/^\s*multipart\/form-data\s*(;|$)/i.test(type))
    throw new ApiError(
      'unsupported_media_type',
      `Content-Type must be ${types}, not ${type === '' ? 'absent' : type.slice(0, 100)}.`,
    );
  if (Number(req.headers['content-length'] ?? 0) > multipartBodyBytes) throw refuseBody(multipartBodyBytes);
}

/** The parser limits only all headers of a part together. Throws ApiError. */
export function checkFieldName(name: string): void {
  if (name.length > MAX_FIELD_NAME)
    throw malformed(`the name of a field has more than ${MAX_FIELD_NAME} characters`);
}

export const refuseBody = (limit: number) =>
  new ApiError('request_too_large', `The body exceeds the limit of ${limit} bytes.`);

export const malformed = (why: string, param: string | null = null) =>
  new ApiError(
    param === null ? 'invalid_request_error' : 'invalid_value',
    `The multipart body is malformed: ${why}.`,
    { param },
  );

/** The client's error for a file that could not be stored; other errors pass. */
export function toFileRefusal(error: unknown, field: string, { fileBytes }: { fileBytes: number }): unknown {
  if (error instanceof UploadError && error.reason === 'tooLarge')
    return new ApiError('request_too_large', `\`${field}\` exceeds the limit of ${fileBytes} bytes.`, {
      param: field,
    });
  return error instanceof UploadError ? refuseUploads() : error;
}
