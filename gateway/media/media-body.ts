/** Reads a body that may hold files, in either of its encodings: a multipart form, or JSON with objects in place of files. */
import { isObject } from '../../kit/json.ts';
import { ownerOf, type Parties } from '../http/body-parsing.ts';
import { type BodyLimits, isJsonType, readJsonBody } from '../http/json-body.ts';
import { FieldReader } from './field-reader.ts';
import type { FormFields } from './form-fields.ts';
import { type FormFile, FormParts, refuseCount, refuseFileId } from './form-parts.ts';
import { refuseReference } from './image-reference.ts';
import { type FormLimits, type FormOptions, readForm } from './multipart.ts';

export interface MediaBody {
  fields: FieldReader;
  files: FormFile[];
}

export interface MediaBodyOptions extends FormOptions {
  limits: FormLimits & BodyLimits;
}

/** As `readForm`. */
export async function readMediaBody(
  party: Parties,
  fields: FormFields,
  options: MediaBodyOptions,
): Promise<MediaBody> {
  if (isJsonType(party.exchange.req.headers['content-type'])) return readJsonParts(party, fields, options);
  const { texts, files } = await readForm(party, fields, options);
  return { fields: FieldReader.ofForm(texts), files };
}

async function readJsonParts(
  party: Parties,
  documented: FormFields,
  { limits, spool, memory }: MediaBodyOptions,
): Promise<MediaBody> {
  const { fields, references } = await readJsonBody(party, {
    limits,
    interpret: (body) => ({
      fields: FieldReader.ofJSON(body.value, documented.texts, { areTexts: true, text: body }),
      references: listReferences(body.value, documented),
    }),
    isKept: true,
    memory,
  });
  const tenant = ownerOf(party);
  const parts = new FormParts(documented, { limits, spool, tenant, abort: new AbortController() });
  const stopListening = party.exchange.onCancel((error) => parts.abort(error));
  try {
    for (const { param, name, text } of references) parts.takeReference(param, name, text);
    const { files } = await parts.collect();
    party.exchange.check();
    return { fields, files };
  } catch (error) {
    await parts.discard(error);
    throw error;
  } finally {
    stopListening();
  }
}

interface NamedReference {
  /** Name of the field. */
  name: string;
  param: string;
  text: string;
}

/** Throws ApiError. */
function listReferences(
  body: Readonly<Record<string, unknown>>,
  { files, aliases = new Map() }: FormFields,
): NamedReference[] {
  const names = [...files.keys(), ...aliases.keys()].filter((name) => Object.hasOwn(body, name));
  return names.flatMap((name) => {
    const value = body[name] ?? [];
    const most = files.get(aliases.get(name) ?? name)!;
    if (!Array.isArray(value)) return [{ name, ...readReference(value, name) }];
    if (value.length > most) throw refuseCount(name, most);
    return value.map((each, index) => ({ name, ...readReference(each, `${name}[${index}]`) }));
  });
}

function readReference(value: unknown, param: string): Omit<NamedReference, 'name'> {
  const { image_url: text, file_id: id } = isObject(value) ? value : {};
  if (typeof text === 'string') return { param: `${param}.image_url`, text };
  if (typeof id === 'string') throw refuseFileId(`${param}.file_id`);
  throw refuseReference('invalid_type', param, 'must be an object with an `image_url`');
}
