/** Which container a condition's message says has crashed, and where its log is. Pure. */

/** undefined if it reports no crash. */
export const findCrashedContainer = (message: string): string | undefined =>
  /^(?:init container )?(\S+) exited with code \d/.exec(message)?.[1];

/** On the page of the deployment. */
export const findLogSearch = (container: string): string =>
  `?tab=logs&container=${encodeURIComponent(container)}`;
