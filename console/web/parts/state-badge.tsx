/** A state as a word with a mark, whose shape and color (in look/global.css) say how much it matters; never by color alone. */
const TONES: Record<string, 'good' | 'moving' | 'caution' | 'bad'> = {
  ready: 'good',
  active: 'good',
  verified: 'good',
  succeeded: 'good',
  delivered: 'good',
  running: 'moving',
  starting: 'moving',
  pending: 'moving',
  degraded: 'caution',
  retrying: 'caution',
  'limit reached': 'caution',
  unhealthy: 'bad',
  failing: 'bad',
  failed: 'bad',
  refused: 'bad',
  'auto-disabled': 'bad',
};

export function StateBadge({ state }: { state: string }) {
  return (
    <span className="state" data-tone={TONES[state] ?? 'idle'}>
      {state}
    </span>
  );
}
