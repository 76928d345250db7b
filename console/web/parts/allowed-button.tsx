/** A button that says why it does nothing where the user may not use it; the keyboard still reaches it. */
import { Button, type ButtonProps, Tooltip } from '@mantine/core';
import type { MouseEvent, ReactNode } from 'react';

interface AllowedButtonProps extends ButtonProps {
  /** undefined: not known yet. */
  isAllowed: boolean | undefined;
  /** Shown when it is not allowed. */
  reason: string;
  onClick?: () => void;
  type?: 'button' | 'submit';
  'aria-label'?: string;
  children: ReactNode;
}

export function AllowedButton({ isAllowed, reason: refusal, onClick, ...rest }: AllowedButtonProps) {
  const reason = isAllowed === undefined ? 'Checking your permissions…' : refusal;
  const refused = {
    'data-disabled': true,
    'aria-disabled': true,
    'aria-description': reason,
    onClick: (event: MouseEvent) => event.preventDefault(),
  };
  // The same elements either way: what has the focus keeps it when the rights are known.
  return (
    <Tooltip
      label={reason}
      disabled={isAllowed}
      multiline
      maw="20rem"
      events={{ hover: true, focus: true, touch: true }}
    >
      <Button {...rest} {...(isAllowed ? { onClick } : refused)} />
    </Tooltip>
  );
}
