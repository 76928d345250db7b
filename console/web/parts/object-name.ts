/** Pattern of fields for object names. Browsers use the v flag, which requires escaping the hyphen. */
export const OBJECT_NAME = '[a-z0-9]([\\-.a-z0-9]*[a-z0-9])?';
