/** A state as a word with a mark, whose shape and color (in theme/states.css) say how much it matters; never by color alone. */
type Tone = 'good' | 'moving' | 'caution' | 'bad';
const TONES: Record<string, Tone> = {
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

/** `tone`: of a state that has none by its name. */
export function StateBadge({ state, tone }: { state: string; tone?: Tone }) {
  return (
    <span className="state" data-tone={tone ?? TONES[state] ?? 'idle'}>
      {state}
    </span>
  );
}
