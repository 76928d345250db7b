/** A button that explains why it is disabled when the user lacks permission; it stays focusable. */
import { Button, type ButtonProps, Tooltip } from '@mantine/core';
import type { MouseEvent, ReactNode } from 'react';

export interface Permission {
  /** undefined: not loaded yet. */
  isAllowed: boolean | undefined;
  /** Shown when it is not allowed. */
  reason: string;
}

interface AllowedButtonProps extends ButtonProps, Permission {
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
  // The same elements in both cases, so that focus is kept when permissions are loaded.
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
