/** Errors that a command reports to its user, and its exit codes. */
export const EXIT_CODES = {
  /** The API server or the endpoint refused. */
  failed: 1,
  usage: 2,
  /** Neither a running `make run` nor a cluster answers. */
  unreachable: 3,
  not_found: 4,
  not_ready: 5,
  /** As in a shell: the agent's program is not installed. */
  not_installed: 127,
} as const;

export type FailureKind = keyof typeof EXIT_CODES;

/** Its message says what is wrong, what is allowed and what to do. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
