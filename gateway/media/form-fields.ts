/** The documented fields of a body, in either encoding; all others are skipped. */
export interface FormFields {
  texts: ReadonlySet<string>;
  /** Fields that may be sent several times; their values are joined by commas. */
  lists?: ReadonlySet<string>;
  /** With the maximum number of files of each. */
  files: ReadonlyMap<string, number>;
  /** Whether an object with an `image_url` may stand for a file; if not, there is no JSON encoding either. */
  takesReferences?: boolean;
  /** Other names of fields with files. */
  aliases?: ReadonlyMap<string, string>;
}
