/** The response of an images endpoint. */
export interface ImagesAnswer {
  created: number;
  data: { url?: string; b64_json?: string }[];
}

/** Fails with the answer's text where it is an error. */
export async function readImages(response: Response): Promise<ImagesAnswer> {
  if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
  return (await response.json()) as ImagesAnswer;
}

export const decodeImage = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64');
