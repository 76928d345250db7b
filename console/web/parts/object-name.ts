/** What a field for an object's name takes. Browsers read it as a set, where a hyphen wants its escape. */
export const OBJECT_NAME = '[a-z0-9]([\\-.a-z0-9]*[a-z0-9])?';
