/** All that is not text: the same beside an engine, in the front and in `make run`. */
import { buildImageHandlers, type ImageServices } from './images.ts';
import { buildRequestHandlers } from './requests.ts';
import { buildVideoHandlers } from './videos.ts';

export const buildMediaHandlers = (services: ImageServices) => ({
  ...buildImageHandlers(services),
  ...buildVideoHandlers(services),
  ...buildRequestHandlers(services),
});
