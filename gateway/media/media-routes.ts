/** All media routes: the same beside an engine, in the front and in `make run`. */

import { buildRequestHandlers } from '../jobs/request-routes.ts';
import { buildImageHandlers, type ImageServices } from './image-routes.ts';
import { buildVideoHandlers } from './video-routes.ts';

export const buildMediaHandlers = (services: ImageServices) => ({
  ...buildImageHandlers(services),
  ...buildVideoHandlers(services),
  ...buildRequestHandlers(services),
});
