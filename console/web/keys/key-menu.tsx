/** Rare or irreversible actions on a key, behind one button to prevent accidents. */
import { ActionIcon, Menu } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { useRef } from 'react';

interface KeyMenuProps {
  name: string;
  isDisabled: boolean;
  isPending: boolean;
  onRoll: () => void;
  onToggle: () => void;
  onRevoke: () => void;
}

export function KeyMenu({ name, isDisabled, isPending, onRoll, onToggle, onRevoke }: KeyMenuProps) {
  const opener = useRef<HTMLButtonElement>(null);
  // Dialogs give focus back to what had it, and the menu's items go with the menu.
  const choose = (action: () => void) => () => {
    opener.current?.focus();
    action();
  };
  return (
    // Within the page's main landmark, which screen readers go through.
    <Menu position="bottom-end" withInitialFocusPlaceholder={false} portalProps={{ target: '#main' }}>
      <Menu.Target>
        <ActionIcon
          ref={opener}
          variant="default"
          loading={isPending}
          aria-label={`More actions for ${name}`}
          size={26}
        >
          <IconDots size={16} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={choose(onRoll)}>Roll…</Menu.Item>
        <Menu.Item onClick={choose(onToggle)}>{isDisabled ? 'Enable' : 'Disable'}</Menu.Item>
        <Menu.Divider />
        <Menu.Item c="var(--mantine-color-error)" onClick={choose(onRevoke)}>
          Revoke…
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
