/** The events that endpoints may subscribe to. */
export const EVENT_TYPES = [
  { value: 'request.completed', label: 'request.completed', about: 'A request has its result.' },
  { value: 'request.failed', label: 'request.failed', about: 'A request failed for good.' },
  { value: 'request.canceled', label: 'request.canceled', about: 'A request was canceled while it waited.' },
] as const;

export const ALL_EVENT_TYPES: string[] = EVENT_TYPES.map(({ value }) => value);
