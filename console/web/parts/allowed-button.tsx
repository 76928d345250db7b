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
  if (isAllowed) return <Button onClick={onClick} {...rest} />;
  const reason = isAllowed === undefined ? 'Your rights are not known yet.' : refusal;
  return (
    <Tooltip label={reason} multiline maw="20rem" events={{ hover: true, focus: true, touch: true }}>
      <Button
        {...rest}
        data-disabled
        aria-disabled
        aria-description={reason}
        onClick={(event: MouseEvent) => event.preventDefault()}
      />
    </Tooltip>
  );
}
