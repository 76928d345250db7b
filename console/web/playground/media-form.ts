/** The body of a media request. */

/** What is absent, or empty, is left out. */
export function buildForm(fields: Record<string, string | number | File | null>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (value !== null && value !== '') form.append(name, value instanceof File ? value : String(value));
  return form;
}
