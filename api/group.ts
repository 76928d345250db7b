/** The API group of Berth's resources. In a file of its own, so that naming things loads no schema. */
export const GROUP = 'berth.dev';
