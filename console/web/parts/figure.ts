/** A number with what it is and what is to be known of it. */
export interface Figure {
  label: string;
  value: string;
  more?: string;
  /** How it went; null where nothing was measured. */
  course?: readonly (number | null)[];
}
