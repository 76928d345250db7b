/** The limits of a key: their fields, and the dialog that changes those of a key that exists. */

import { Group, Modal, NumberInput, Stack } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import type { KeyLimits, KeyView } from '../../api.ts';
import { routes } from '../../routes.ts';
import { splitError } from '../client/call.ts';
import { useWrite } from '../client/namespace.ts';
import { announce } from '../parts/announcer.tsx';
import { FormEnd } from '../parts/form-end.tsx';

export const LIMITS = ['rpm', 'tpd', 'priority'] as const;
const DEFAULTS: KeyLimits = { rpm: 60, tpd: 1_000_000, priority: 0 };

interface LimitFields {
  limits: KeyLimits;
  /** `errors`: by field. */
  render: (errors: Record<string, string>) => ReactNode;
}

export function useLimitFields(start = DEFAULTS): LimitFields {
  const [typed, setTyped] = useState<Record<keyof KeyLimits, number | string>>({
    rpm: start.rpm,
    tpd: start.tpd,
    priority: start.priority,
  });
  const render: LimitFields['render'] = (errors) => {
    const field = (name: keyof KeyLimits) => ({
      value: typed[name],
      onChange: (value: number | string) => setTyped((before) => ({ ...before, [name]: value })),
      error: errors[name],
      allowDecimal: false,
      clampBehavior: 'none' as const,
      required: true,
    });
    return (
      <>
        <Group grow align="flex-end">
          <NumberInput label="Requests per minute" min={0} thousandSeparator="," {...field('rpm')} />
          <NumberInput label="Tokens per day" min={0} thousandSeparator="," {...field('tpd')} />
        </Group>
        <NumberInput
          label="Priority"
          description="From -100 to 100: requests with a higher priority reach the engine first"
          {...field('priority')}
        />
      </>
    );
  };
  const { rpm, tpd, priority } = typed;
  return { limits: { rpm: Number(rpm), tpd: Number(tpd), priority: Number(priority) }, render };
}

interface LimitsDialogProps {
  apiKey: KeyView;
  isOpen: boolean;
  onClose: () => void;
}

export function LimitsDialog({ apiKey, isOpen, onClose }: LimitsDialogProps) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={`Limits of ${apiKey.name}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <LimitsForm apiKey={apiKey} onDone={onClose} />
    </Modal>
  );
}

function LimitsForm({ apiKey, onDone }: { apiKey: KeyView; onDone: () => void }) {
  const { limits, render } = useLimitFields(apiKey);
  const save = useWrite(
    routes.changeKey,
    { name: apiKey.name },
    {
      refreshes: [routes.listKeys],
      onSuccess: () => {
        announce(`Saved the limits of ${apiKey.name}.`);
        onDone();
      },
    },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // The others may have been changed elsewhere meanwhile.
    const changed = LIMITS.filter((name) => limits[name] !== apiKey[name]);
    save.mutate(Object.fromEntries(changed.map((name) => [name, limits[name]])));
  };
  const wrong = splitError(save.error, [...LIMITS]);
  return (
    <form onSubmit={submit}>
      <Stack>
        {render(wrong.fields)}
        <FormEnd error={wrong.rest} isBusy={save.isPending}>
          Save
        </FormEnd>
      </Stack>
    </form>
  );
}
