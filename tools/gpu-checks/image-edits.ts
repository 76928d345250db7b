/** What a GPU shows of a model that changes a part of an image. */
import { failed, type Model, type Outcome, passed, postForm, requireOk, skipped } from './endpoint.ts';
import { compareByMask, makeMask, makePicture, SIZE } from './pictures.ts';

export const EDITS = '/images/edits';
/** What an engine repaints around a mask is close to what was there. */
const MAX_SHARE_OUTSIDE = 0.5;

/** Some engines and models do not paint a part of an image: their deployments list no mask. */
export async function checkMask({ id, routes, supported_parameters: tasks }: Model): Promise<Outcome> {
  if (!routes.includes(`/v1${EDITS}`) || !tasks?.img2img) return skipped('it does not change images');
  if (!tasks.img2img.parameters.includes('mask')) return skipped('it does not change parts of images');
  const image = await makePicture();
  const response = await postForm(EDITS, {
    model: id,
    prompt: 'a large red balloon',
    size: SIZE,
    response_format: 'b64_json',
    image,
    mask: await makeMask(),
  });
  const { data } = (await (await requireOk(response)).json()) as { data: { b64_json: string }[] };
  const edited = Buffer.from(data[0]!.b64_json, 'base64');
  const { inside, outside } = await compareByMask(Buffer.from(await image.arrayBuffer()), edited);
  const detail = `of 255 it differs by ${inside.toFixed(1)} where the mask shows, by ${outside.toFixed(1)} elsewhere`;
  if (outside < MAX_SHARE_OUTSIDE * inside) return passed(detail);
  return failed(`${detail}: if the model cannot edit part of an image, set spec.image.mask: false`);
}
