/** Berth's version: of the chart, the images and `status.sidecarVersion`. */
export const VERSION = '0.1.0';
